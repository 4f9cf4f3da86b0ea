"""A release: one egg under one name on every node, or on none.

First all nodes are looked at, and nothing is sent while one of them is away or has the version. Then all get the egg
side by side and list its spiders. Where any of that fails, the version is taken away again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deploy.client import NodeClient
from deploy.errors import ConnectError, DeployError, NodeError
from deploy.fanout import FanOut, fan_out
from deploy.usage import running_jobs
from deploy.version_names import check_version_name, sorted_versions
from deploy.withdrawals import withdraw
from spiders_project.egg import UNMET

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from deploy.targets import Node
    from deploy.withdrawals import Withdrawals


@dataclass(frozen=True)
class Look:
    """One node before the release: its versions as Scrapyd sorts them, and the jobs that ran then."""

    client: NodeClient  # its connection is open
    versions: list[str]
    running: frozenset[str]


@dataclass
class Release:
    """What came of it.

    Attributes:
        version: Its name.
        spiders: By node, what it lists; and what failed.
        sent: The egg was sent to some node.
        withdrawn: Nodes that have it no longer.
        left: By node, why it could not be taken away (yet).
        shadowed: By node, the version that a plain ``schedule.json`` runs all the same, since it sorts behind.
    """

    version: str
    spiders: FanOut[list[str]]
    sent: bool = False
    withdrawn: list[str] = field(default_factory=list)
    left: dict[str, DeployError] = field(default_factory=dict)
    shadowed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def planned(cls, version: str, nodes: Sequence[Node], spiders: Sequence[str]) -> Release:
        """What a release would come to if nothing failed."""
        return cls(version, FanOut(done={node.name: list(spiders) for node in nodes}), sent=True)

    @property
    def on(self) -> list[str]:
        """The nodes on which it is released: all, none, or with ``best_effort`` some."""
        gone = {*self.withdrawn, *self.left}
        return [name for name in self.spiders.done if name not in gone] if self.sent else []

    def check(self) -> None:
        """Raise what failed.

        Raises:
            ConnectError: No node at all can be reached.
            DeployError: Anything failed on any node; says where the version is now.
        """
        try:
            self.spiders.check()
        except DeployError as error:
            raise type(error)("\n".join((str(error), *self.aftermath()))) from error

    def aftermath(self) -> list[str]:
        """Where the version is after a failure, in sentences."""
        if not self.sent:
            return ["nothing was sent to any node"]
        words = [f"version {self.version} stays on {', '.join(self.on)}"] if self.on else []
        if self.withdrawn:
            words.append(f"version {self.version} was withdrawn from {', '.join(self.withdrawn)}")
        words.extend(f"not withdrawn: {error}" for error in self.left.values())
        if self.left:
            words.append("what is left is recorded, and withdrawn as soon as it can be: `python -m deploy withdraw`")
        return words or [f"version {self.version} is on no node"]


def look(nodes: Sequence[Node]) -> FanOut[Look]:
    """How the nodes are before a release."""

    def work(node: Node) -> Look:
        client = NodeClient(node)
        versions = client.list_versions(node.project)
        return Look(client, versions, running_jobs(client, node.project) if versions else frozenset())

    return fan_out(nodes, work)


def release(
    nodes: Sequence[Node],
    egg: bytes,
    version: str,
    withdrawals: Withdrawals,
    *,
    expected: Collection[str] = (),
    best_effort: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Release:
    """Release ``egg`` as ``version``; ``Release.check`` raises what failed.

    Args:
        nodes: All of them, or those that shall have it.
        egg: Its content, checked.
        version: Its name.
        withdrawals: Where withdrawals are recorded that cannot be made now.
        expected: Spiders that each node must list; none: any will do, but the same everywhere.
        best_effort: Keep it on the nodes that took it, whatever happened on others.
        progress: Is told of each node that is through.

    Raises:
        UsageError: The version's name will not do.
    """
    check_version_name(version)
    looks = look(nodes)
    for name, seen in list(looks.done.items()):
        if version in seen.versions:
            del looks.done[name]
            looks.failed[name] = NodeError(
                f"{name}: version {version} exists there already, and a version is never overwritten: "
                "jobs may be running from it"
            )
    ready = [node for node in nodes if node.name in looks.done]
    if not ready or (looks.failed and not best_effort):
        return Release(version, FanOut(done={node.name: [] for node in ready}, failed=looks.failed))

    def take_back(nodes: Sequence[Node], reason: str) -> FanOut[bool]:
        running = {name: seen.running for name, seen in looks.done.items()}
        return withdraw(nodes, version, withdrawals, reason=reason, ignored=running, egg=egg)

    try:
        sent = fan_out(
            ready, lambda node: _send(looks.done[node.name].client, egg, version), _reporter(progress, len(ready))
        )
    except BaseException:
        progress(f"interrupted: withdrawing {version}")
        take_back(ready, "the release was interrupted")
        raise
    _compare(sent, version, expected)
    outcome = Release(version, sent, sent=True)
    bad = [node for node in ready if node.name in sent.failed] if best_effort else ready
    if sent.failed and bad:
        taken = take_back(bad, str(next(iter(sent.failed.values()))))
        outcome.withdrawn = list(taken.done)
        outcome.left = taken.failed
    for node in ready:
        if node.name in outcome.on:
            withdrawals.drop(node, version)
            newest = sorted_versions([*looks.done[node.name].versions, version])[-1]
            if newest != version:
                outcome.shadowed[node.name] = newest
    sent.failed.update(looks.failed)
    return outcome


def _send(client: NodeClient, egg: bytes, version: str) -> list[str]:
    node = client.node
    try:
        client.add_version(node.project, version, egg)
        spiders = client.list_spiders(node.project, version)
    except ConnectError:
        raise
    except NodeError as error:
        raise NodeError(_unmet(node.name, str(error)) or str(error)) from error
    if not spiders:
        raise NodeError(f"{node.name}: version {version} lists no spiders there")
    return spiders


def _unmet(node: str, text: str) -> str:
    """What the egg said of the node's packages, if that is why its spiders cannot be listed."""
    faults = [line.partition(UNMET)[2].strip() for line in text.splitlines() if UNMET in line]
    said = [f"{node} {fault}" if fault.startswith("lacks ") else f"{node}: {fault}" for fault in faults]
    return "\n".join([*said, f"{node}: install requirements.txt there, then release again"]) if said else ""


def _compare(sent: FanOut[list[str]], version: str, expected: Collection[str]) -> None:
    """Let the nodes fail that list other spiders than expected, or than most do."""
    wanted = set(expected) or set(max(sent.done.values(), key=len, default=()))
    for name, spiders in list(sent.done.items()):
        differing = wanted ^ set(spiders)
        if differing:
            del sent.done[name]
            lacking = ", ".join(sorted(wanted - set(spiders))) or "none"
            sent.failed[name] = NodeError(
                f"{name}: version {version} lists other spiders there than it should: {lacking} lacking, "
                f"{', '.join(sorted(set(spiders) - wanted)) or 'none'} unknown"
            )


def _reporter(progress: Callable[[str], None], total: int) -> Callable[[Node, DeployError | None], None]:
    through = 0

    def report(node: Node, error: DeployError | None) -> None:
        nonlocal through
        through += 1
        progress(f"{node.name}: {'failed' if error else 'has it'} ({through} of {total})")

    return report
