"""Taking a version away from nodes: never from under a job, and from a node that is away when it returns.

What could not be taken away is recorded in the frontier's Redis, where every operator's machine and the supervisor
find it, or in ``.local/withdrawals.json`` where Redis does not answer. Whoever talks to the nodes next makes it good.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import redis

from deploy import keys
from deploy.client import NodeClient
from deploy.environment import STACK_DIRECTORY
from deploy.errors import DeployError, VersionInUse
from deploy.fanout import FanOut, fan_out
from deploy.local.files import make_private, write_private
from deploy.redis_errors import spoken
from deploy.usage import usage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from deploy.targets import Node

_FILE = "withdrawals.json"


@dataclass(frozen=True)
class Withdrawal:
    """A version that is still to be taken away from the node at ``url``; ``at`` is in unix seconds."""

    url: str
    project: str
    version: str
    reason: str = ""
    at: float = 0.0

    @property
    def field(self) -> str:
        """What identifies it: nodes may have other names on other machines."""
        return json.dumps([self.url, self.project, self.version])


class Withdrawals:
    """The record of what is still to be taken away.

    Args:
        directory: The private directory of this checkout (``.local``).
        client: The frontier's Redis; None where it does not answer.
    """

    def __init__(self, directory: Path, client: redis.Redis | None) -> None:
        self._file = directory / _FILE
        self._client = client

    @classmethod
    def of(cls, root: Path, client: redis.Redis | None) -> Withdrawals:
        """Those of the checkout at ``root``."""
        return cls(root / STACK_DIRECTORY, client)

    def all(self) -> list[Withdrawal]:
        """Every one, oldest first."""
        found = {one.field: one for one in self._in_file()}
        for field, value in self._in_redis().items():
            with suppress(ValueError, TypeError):  # not ours: it stays, and harms no other
                found[field.decode()] = Withdrawal(**json.loads(value))
        return sorted(found.values(), key=lambda one: one.at)

    def add(self, node: Node, version: str, reason: str) -> None:
        """Record that ``version`` is to be taken away from ``node``."""
        one = Withdrawal(node.url, node.project, version, reason, time.time())
        if self._client is not None:
            with suppress(redis.RedisError):  # it went away meanwhile
                self._client.hset(keys.WITHDRAWALS, one.field, json.dumps(asdict(one)))
                return
        self._write([*(other for other in self._in_file() if other.field != one.field), one])

    def drop(self, node: Node, version: str) -> None:
        """Forget one: it is made, or the version was released after all."""
        field = Withdrawal(node.url, node.project, version).field
        if field.encode() in self._in_redis() and self._client is not None:
            with spoken():
                self._client.hdel(keys.WITHDRAWALS, field)
        kept = [one for one in self._in_file() if one.field != field]
        if len(kept) != len(self._in_file()):
            self._write(kept)

    def _in_redis(self) -> dict[bytes, bytes]:
        if self._client is not None:
            with suppress(redis.RedisError):
                return cast("dict[bytes, bytes]", self._client.hgetall(keys.WITHDRAWALS))
        return {}

    def _in_file(self) -> list[Withdrawal]:
        try:
            listed: list[dict[str, Any]] = json.loads(self._file.read_text())
            return [Withdrawal(**one) for one in listed]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise DeployError(
                f"{self._file} is damaged ({error}): delete it, and look at `python -m deploy versions` for "
                "versions that are not on all nodes"
            ) from error

    def _write(self, withdrawals: list[Withdrawal]) -> None:
        make_private(self._file.parent)
        write_private(self._file, json.dumps([asdict(one) for one in withdrawals], indent=2) + "\n")


def take_away(client: NodeClient, version: str, *, ignored: Collection[str] = (), egg: bytes | None = None) -> bool:
    """Delete ``version`` from one node, unless a job uses it; whether it was there.

    Scrapyd has no lock, so a job can be scheduled between the look and the deletion. A second look follows, and the
    version is put back when ``egg`` is known and a job came for it: what is left of the window is the time that one
    request takes, and a job that starts in it fails at its first import.

    Args:
        client: The node.
        version: Its name.
        ignored: Jobs that are known not to use it, because they ran before it came.
        egg: Its content.

    Raises:
        VersionInUse: A running or pending job uses it, or does not say what it uses.
        NodeError: The node does not answer as it should.
    """
    name, project = client.node.name, client.node.project
    held: list[str] = client.list_versions(project)
    if version not in held:
        return False
    before = usage(client, project, held, ignored)
    if jobs := before.of(version):
        raise VersionInUse(_in_use(name, version, jobs, before.silent))
    client.delete_version(project, version)
    if held == [version]:  # with its last version a project is gone, and so is its queue
        return True
    known = {*ignored, *(job for of_version in before.jobs.values() for job in of_version)}
    after = usage(client, project, [one for one in held if one != version], known)
    if (jobs := after.of(version)) and egg is not None:
        client.add_version(project, version, egg)
        raise VersionInUse(_in_use(name, version, jobs, after.silent))
    return True


def settle(nodes: Sequence[Node], withdrawals: Withdrawals) -> FanOut[list[str]]:
    """Make the withdrawals that can be made now; the versions taken away, by node. The others stay recorded.

    ``failed`` holds only nodes that answered otherwise than expected: one that is away, and a version that is still
    in use, are no failure.
    """
    wanted: dict[tuple[str, str], list[str]] = {}
    for one in withdrawals.all():
        wanted.setdefault((one.url, one.project), []).append(one.version)

    def work(node: Node) -> list[str]:
        client = NodeClient(node)
        made = []
        for version in wanted[node.url, node.project]:
            try:
                take_away(client, version)
            except VersionInUse:
                continue
            made.append(version)
        return made

    settled = fan_out([node for node in nodes if (node.url, node.project) in wanted], work)
    by_name = {node.name: node for node in nodes}
    for name, made in settled.done.items():
        for version in made:
            withdrawals.drop(by_name[name], version)
    return settled


def withdraw(
    nodes: Sequence[Node],
    version: str,
    withdrawals: Withdrawals,
    *,
    reason: str,
    ignored: dict[str, frozenset[str]],
    egg: bytes | None = None,
) -> FanOut[bool]:
    """Take ``version`` away from ``nodes``, and record it for each on which that is not possible now.

    Args:
        nodes: Where it may have landed.
        version: Its name.
        withdrawals: Where the rest is recorded.
        reason: Why, for people.
        ignored: By node, jobs that ran before the version came.
        egg: Its content.
    """
    taken = fan_out(
        nodes,
        lambda node: take_away(NodeClient(node), version, ignored=ignored.get(node.name, ()), egg=egg),
    )
    for node in nodes:
        if node.name in taken.failed:
            withdrawals.add(node, version, reason)
    return taken


def _in_use(node: str, version: str, jobs: list[str], silent: list[str]) -> str:
    hint = "" if not silent else " (a job that does not say its version, at LOG_LEVEL above INFO say, may use any)"
    return f"{node}: version {version} stays, since jobs use it: {', '.join(jobs)}{hint}"
