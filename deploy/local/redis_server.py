"""Redis: a real ``redis-server`` behind a password, with an append-only file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from deploy.errors import ConnectError, DeployError
from deploy.local import binaries
from deploy.local.files import write_private
from deploy.local.processes import LOOPBACK
from deploy.local.redact import redacted
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_SECONDS = 5
#: From this version on the append-only file is a directory, which older ones do not see.
MULTI_PART_SINCE = 7


class RedisServer(Server):
    """Redis in ``directory``.

    Args:
        name: What messages call it.
        directory: Where everything of it lies.
        options: Further lines of redis.conf, as ``{"appendonly": "no"}``; they win over ours.
        binary: The program; found by itself when not given.
    """

    title = "Redis"

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "redis",
        options: Mapping[str, str] | None = None,
        binary: Path | None = None,
    ) -> None:
        super().__init__(name, directory)
        self._options = dict(options or {})
        self._binary = binary

    @property
    def url(self) -> str:
        """``redis://default:PASSWORD@127.0.0.1:PORT/0``; redis-cli sends an empty name where none stands."""
        return f"redis://default:{self.password}@{LOOPBACK}:{self.port}/0"

    def answers(self) -> bool:
        """Whether PING is answered, which it is not while a data set is loaded."""
        try:
            check_redis(self.url)
        except ConnectError:
            return False
        return True

    def _configure(self) -> None:
        options = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "requirepass": self.password,
            "daemonize": "no",
            "appendonly": "yes",
            "save": '""',  # the append-only file is enough; a snapshot would double the writes
            **self._options,
        }
        write_private(self.directory / "redis.conf", "".join(f"{name} {value}\n" for name, value in options.items()))

    def _command(self) -> list[str]:
        binary = self._binary or binaries.redis_server()
        if (self.directory / "appendonlydir").is_dir() and _major_version(binary) < MULTI_PART_SINCE:
            raise DeployError(
                f"the data in {self.directory} were written by Redis 7 or newer, and {binary} is older and "
                f"would start empty; install the newer one again, or delete {self.directory}"
            )
        return [str(binary), str(self.directory / "redis.conf")]

    @staticmethod
    def _is_server(command: list[str]) -> bool:
        # Redis rewrites its command line to "redis-server 127.0.0.1:PORT".
        return bool(command) and Path(command[0].split(" ")[0]).name.startswith("redis-server")


def _major_version(binary: Path) -> int:
    output = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v=(\d+)", output)
    return int(found[1]) if found else MULTI_PART_SINCE


def check_redis(url: str) -> None:
    """Ask the server at ``url`` whether it is there.

    Raises:
        ConnectError: It is not, or refuses the password.
    """
    try:
        with redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        ) as client:
            client.ping()
    except (redis.RedisError, ValueError, OSError) as error:
        raise ConnectError(f"Redis at {redacted(url)} does not answer: {error}") from error
