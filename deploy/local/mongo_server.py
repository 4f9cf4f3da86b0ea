"""MongoDB: a real ``mongod`` that asks for a password."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from deploy.errors import ConnectError
from deploy.local import binaries
from deploy.local.files import make_private, write_private
from deploy.local.processes import LOOPBACK
from deploy.local.redact import redacted
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_MILLISECONDS = 5000
USERNAME = "crawler"
AUTHENTICATION_FAILED = 18


class MongoServer(Server):
    """MongoDB in ``directory``.

    Args:
        name: What messages call it.
        directory: Where everything of it lies.
        roles: What its one user may do; tests that make users of their own ask for ``["root"]``.
        parameters: Server parameters (``setParameter``).
        binary: The program; found by itself when not given.
    """

    title = "MongoDB"

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "mongo",
        roles: Sequence[str] = ("readWriteAnyDatabase", "dbAdminAnyDatabase", "clusterMonitor"),
        parameters: Mapping[str, Any] | None = None,
        binary: Path | None = None,
    ) -> None:
        super().__init__(name, directory)
        self._roles = list(roles)
        self._parameters = dict(parameters or {})
        self._binary = binary

    @property
    def url(self) -> str:
        """``mongodb://crawler:PASSWORD@127.0.0.1:PORT/?authSource=admin``."""
        return f"mongodb://{USERNAME}:{self.password}@{LOOPBACK}:{self.port}/?authSource=admin"

    def answers(self) -> bool:
        """Whether ping is answered with our user, who is made if there is no user at all yet."""
        try:
            check_mongo(self.url)
        except ConnectError as error:
            cause = error.__cause__
            return (
                isinstance(cause, OperationFailure)
                and cause.code == AUTHENTICATION_FAILED
                and self._create_user()
            )
        return True

    def _create_user(self) -> bool:
        # MongoDB's "localhost exception": the first user may be made without being one.
        try:
            with _connect(f"mongodb://{LOOPBACK}:{self.port}/") as client:
                client.admin.command("createUser", USERNAME, pwd=self.password, roles=self._roles)
        except PyMongoError:
            return False
        return True

    def _configure(self) -> None:
        data = self.directory / "data"
        make_private(data)
        # JSON is YAML, and quotes whatever a path may hold.
        config = {
            "net": {"bindIp": LOOPBACK, "port": self.port, "unixDomainSocket": {"enabled": False}},
            "security": {"authorization": "enabled"},
            "storage": {"dbPath": str(data), "wiredTiger": {"engineConfig": {"cacheSizeGB": 0.25}}},
            "systemLog": {"quiet": True},
            "setParameter": {"diagnosticDataCollectionEnabled": False, **self._parameters},
        }
        write_private(self.directory / "mongod.conf", json.dumps(config, indent=2) + "\n")

    def _command(self) -> list[str]:
        return [str(self._binary or binaries.mongod()), "--config", str(self.directory / "mongod.conf")]

    @staticmethod
    def _is_server(command: list[str]) -> bool:
        return bool(command) and Path(command[0]).name == "mongod"


def check_mongo(uri: str) -> None:
    """Ask the server at ``uri`` whether it is there.

    Raises:
        ConnectError: It is not, or refuses the password.
    """
    try:
        with _connect(uri) as client:
            client.admin.command("ping")
    except (PyMongoError, ValueError) as error:
        raise ConnectError(f"MongoDB at {redacted(uri)} does not answer: {error}") from error


def _connect(uri: str) -> MongoClient[dict[str, Any]]:
    return MongoClient(uri, serverSelectionTimeoutMS=TIMEOUT_MILLISECONDS)
