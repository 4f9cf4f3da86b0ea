"""The embedded stack: one Redis, one MongoDB and some Scrapyd nodes, in one directory, for one machine."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from deploy.errors import DeployError
from deploy.local.files import MIN_FREE_BYTES, check_space, explained, locked, make_private
from deploy.local.info import NodeInfo, StackInfo
from deploy.local.mongo_server import MongoServer, check_mongo
from deploy.local.redact import redacted
from deploy.local.redis_server import RedisServer, check_redis
from deploy.local.scrapyd_node import ScrapydNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from deploy.local.server import Server

logger = logging.getLogger(__name__)

DEFAULT_NODES = 2


@dataclass(frozen=True)
class Status:
    """One server's state: ``running``, ``silent`` (runs and does not answer), ``stopped`` or ``yours``."""

    name: str
    state: str
    url: str
    pid: int | None
    pending: int | None = None
    running: int | None = None
    finished: int | None = None


class Stack:
    """A stack in ``directory``.

    Args:
        directory: Where everything lies (mode 700).
        nodes: How many Scrapyd nodes ``up`` makes run; None for as many as before, or two.
        settings: Further environment variables of the nodes' jobs.
        environ: Where REDIS_URL, MONGO_URI and MONGO_DATABASE are looked up. A server that is named there is
            used as it is, and neither started nor stopped.
        min_free_bytes: Disk space below which nothing is started.
    """

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int | None = None,
        settings: Mapping[str, str] | None = None,
        environ: Mapping[str, str] = os.environ,
        min_free_bytes: int = MIN_FREE_BYTES,
    ) -> None:
        self.directory = directory.resolve()
        self._wanted_nodes = nodes
        self._settings = dict(settings or {})
        self._environ = environ
        self._min_free_bytes = min_free_bytes

    def up(self) -> StackInfo:
        """Start what does not run, keep what does, and wait until everything answers.

        Raises:
            ConnectError: A server of yours (REDIS_URL, MONGO_URI) does not answer.
            UsageError: The directory or the platform will not do.
            DeployError: A server did not start; says why.
        """
        with explained(self.directory):
            make_private(self.directory)
            with locked(self.directory):
                check_space(self.directory, self._min_free_bytes)
                return self._up()

    def _up(self) -> StackInfo:
        redis, mongo = self._redis(), self._mongo()
        yours = {"REDIS_URL": self._yours("REDIS_URL", redis), "MONGO_URI": self._yours("MONGO_URI", mongo)}
        _side_by_side(
            [
                partial(check_redis, url) if (url := yours["REDIS_URL"]) else redis.start,
                partial(check_mongo, url) if (url := yours["MONGO_URI"]) else mongo.start,
            ]
        )
        redis_url, mongo_uri = yours["REDIS_URL"] or redis.url, yours["MONGO_URI"] or mongo.url

        known = self._known_nodes()
        count = self._wanted_nodes or len(known) or DEFAULT_NODES
        nodes = [self._node(number, redis_url, mongo_uri) for number in range(1, count + 1)]
        names = {node.name for node in nodes}
        surplus = [node for node in known if node.name not in names]
        _side_by_side([*(node.start for node in nodes), *(node.stop for node in surplus)])

        info = StackInfo(redis_url, mongo_uri, tuple(_describe(node) for node in nodes))
        info.save(self.directory)
        return info

    def _node(self, number: int, redis_url: str, mongo_uri: str) -> ScrapydNode:
        name = f"node{number}"
        settings = {"REDIS_URL": redis_url, "MONGO_URI": mongo_uri}
        if database := self._environ.get("MONGO_DATABASE"):
            settings["MONGO_DATABASE"] = database
        return ScrapydNode(self.directory / name, name=name, settings={**settings, **self._settings})

    def down(self) -> bool:
        """Stop jobs, nodes and servers that ``up`` started, and nothing else; data and passwords stay.

        Returns:
            Whether anything ran.
        """
        if not self.directory.is_dir():
            return False
        with explained(self.directory), locked(self.directory):
            nodes = self._known_nodes()
            ran = _side_by_side([node.stop for node in nodes])
            # The jobs have given their requests back and stored their items: their servers may go.
            ran += _side_by_side([self._redis().stop, self._mongo().stop])
            info = StackInfo.load(self.directory)
            if info:
                names = {node.name for node in info.nodes}
                stopped = tuple(_describe(node) for node in nodes if node.name in names)
                StackInfo(info.redis_url, info.mongo_uri, stopped).save(self.directory)
            return any(ran)

    def status(self) -> list[Status]:
        """How each server of the stack is now; empty when there never was one here."""
        info = StackInfo.load(self.directory)
        if info is None:
            return []
        names = {node.name for node in info.nodes}
        return [
            _status(self._redis(), info.redis_url),
            _status(self._mongo(), info.mongo_uri),
            *(_status(node, node.url) for node in self._known_nodes() if node.name in names),
        ]

    def _redis(self) -> RedisServer:
        return RedisServer(self.directory / "redis")

    def _mongo(self) -> MongoServer:
        return MongoServer(self.directory / "mongo")

    def _known_nodes(self) -> list[ScrapydNode]:
        names = sorted((path.name for path in self.directory.glob("node*")), key=_by_number)
        nodes = [ScrapydNode(self.directory / name, name=name) for name in names]
        return [node for node in nodes if node.known]

    def _yours(self, variable: str, server: Server) -> str | None:
        """The user's own server, if ``variable`` names one.

        After ``. .local/env`` it names ours, which the password tells: the port may have moved since.
        """
        url = self._environ.get(variable)
        return url if url and not (server.known and server.password in url) else None


def _side_by_side(actions: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run all actions at once, wait for all, and raise what went wrong in any of them as one error."""
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(action) for action in actions]
    errors = [error for future in futures if (error := future.exception())]
    told = [error for error in errors if isinstance(error, DeployError)]
    if len(told) > 1 and told == errors:
        raise type(told[0])("\n".join(str(error) for error in told)) from told[0]
    return [future.result() for future in futures]


def _by_number(name: str) -> tuple[int, str]:
    return len(name), name


def _describe(node: ScrapydNode) -> NodeInfo:
    process = node.process
    return NodeInfo(node.name, node.url, node.username, node.password, process.pid if process else None)


def _status(server: Server, url: str) -> Status:
    if url != server.url:
        return Status(server.name, "yours", redacted(url), None)
    process = server.process
    if process is None:
        return Status(server.name, "stopped", redacted(url), None)
    if not server.answers():
        return Status(server.name, "silent", redacted(url), process.pid)
    counts = server.daemon_status() if isinstance(server, ScrapydNode) else {}
    jobs = (counts.get(key) for key in ("pending", "running", "finished"))
    return Status(server.name, "running", redacted(url), process.pid, *jobs)
