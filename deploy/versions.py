"""The versions on the nodes: which there are, which drifted, and how old ones go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deploy.client import NodeClient
from deploy.errors import DeployError, VersionInUse
from deploy.fanout import FanOut, fan_out
from deploy.released import newest_version, release_times
from deploy.usage import usage
from deploy.withdrawals import take_away

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deploy.targets import Node


@dataclass(frozen=True)
class Table:
    """Which node has which version.

    Attributes:
        released: The newest release, which ``schedule`` runs; None where there is no version at all.
        times: When each version was released, in unix seconds, where that is known.
        held: By node, its versions as Scrapyd sorts them: the last is what a plain ``schedule.json`` runs.
        failed: Nodes that do not answer.
    """

    released: str | None
    times: dict[str, float]
    held: dict[str, list[str]]
    failed: dict[str, DeployError] = field(default_factory=dict)

    @property
    def versions(self) -> list[str]:
        """All versions, newest first."""
        known = dict.fromkeys(version for of_node in self.held.values() for version in of_node)
        return newest_first(list(known), self.times)

    @property
    def drifted(self) -> dict[str, str]:
        """By node, in what it differs from the release."""
        found = {}
        for node, versions in self.held.items():
            if self.released not in versions:
                found[node] = f"lacks {self.released}" if self.released else ""
            elif versions[-1] != self.released:
                found[node] = f"runs {versions[-1]} for a plain schedule.json"
        return {node: drift for node, drift in found.items() if drift}


def newest_first(versions: Sequence[str], times: dict[str, float]) -> list[str]:
    """By time; those without one are the oldest, in Scrapyd's order."""
    places = {version: place for place, version in enumerate(versions)}
    return sorted(versions, key=lambda version: (times.get(version, 0.0), places[version]), reverse=True)


def table(root: Path, nodes: Sequence[Node]) -> Table:
    """Ask all nodes for their versions."""
    asked = fan_out(nodes, lambda node: list(NodeClient(node).list_versions(node.project)))
    known = list(dict.fromkeys(version for of_node in asked.done.values() for version in of_node))
    project = nodes[0].project
    return Table(
        released=newest_version(root, project, known),
        times=release_times(root, project, known),
        held=asked.done,
        failed=asked.failed,
    )


@dataclass
class Deletion:
    """What came of a deletion on one node: versions ``gone``, and those ``kept`` with the reason."""

    gone: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def prune(
    root: Path, nodes: Sequence[Node], keep: int, *, pinned: Mapping[str, str] | None = None, dry_run: bool = False
) -> FanOut[Deletion]:
    """Delete all but the ``keep`` newest versions of each node.

    What a job uses, what a plain ``schedule.json`` runs and the release itself stay in any case; and what is
    ``pinned``, for the reason given.
    """
    before = table(root, nodes)

    def work(node: Node) -> Deletion:
        if node.name in before.failed:
            raise before.failed[node.name]
        held = before.held[node.name]
        newest = newest_first(held, before.times)
        safe = {*newest[:keep], *held[-1:], before.released}
        surplus = [version for version in reversed(newest) if version not in safe]
        return _delete(node, surplus, pinned or {}, dry_run=dry_run)

    return fan_out(nodes, work)


def delete(
    nodes: Sequence[Node], version: str, *, pinned: Mapping[str, str] | None = None, dry_run: bool = False
) -> FanOut[Deletion]:
    """Delete one version from the nodes; one that a job uses, or that is ``pinned``, stays there."""
    return fan_out(nodes, lambda node: _delete(node, [version], pinned or {}, dry_run=dry_run))


def _delete(node: Node, versions: Sequence[str], pinned: Mapping[str, str], *, dry_run: bool) -> Deletion:
    client = NodeClient(node)
    outcome = Deletion()
    for version in versions:
        if version in pinned:
            outcome.kept[version] = f"{node.name}: version {version} stays: {pinned[version]}"
            continue
        try:
            if _would_take(client, version) if dry_run else take_away(client, version):
                outcome.gone.append(version)
        except VersionInUse as error:
            outcome.kept[version] = str(error)
    return outcome


def _would_take(client: NodeClient, version: str) -> bool:
    project = client.node.project
    held = client.list_versions(project)
    if version not in held:
        return False
    if jobs := usage(client, project, held).of(version):
        raise VersionInUse(f"{client.node.name}: version {version} stays, since jobs use it: {', '.join(jobs)}")
    return True
