"""Which node gets the next worker of a crawl."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deploy.fleet import CrawlSpec


@dataclass
class Room:
    """One node as placement sees it.

    Attributes:
        name: The node's.
        capacity: Workers that it can run at once.
        busy: Jobs that it has now, of all spiders and projects, pending ones too.
        weight: Its share beside the others'.
        labels: What it offers.
        open: It may get new work: it answers, starts what it gets, and is not drained.
        mine: Living workers by crawl.
    """

    name: str
    capacity: int
    busy: int = 0
    weight: float = 1.0
    labels: frozenset[str] = frozenset()
    open: bool = True
    mine: dict[str, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """Workers that it could start now."""
        return max(0, self.capacity - self.busy) if self.open else 0

    def take(self, crawl: str) -> None:
        """One more of ``crawl``."""
        self.busy += 1
        self.mine[crawl] = self.mine.get(crawl, 0) + 1


def choose(
    crawl: str,
    spec: CrawlSpec,
    rooms: Sequence[Room],
    *,
    turns: Mapping[str, int] | None = None,
    avoid: Collection[str] = (),
    rng: random.Random | None = None,
) -> Room | None:
    """The node for one more worker of ``crawl``, or None where none has room.

    Args:
        crawl: Its name.
        spec: Its placement, labels and most workers on one node.
        rooms: All nodes.
        turns: Workers that each node was given in this run, for ``round-robin``.
        avoid: Nodes to take only when there is no other.
        rng: For ``random``.
    """
    fit = [
        room
        for room in rooms
        if room.free > 0
        and spec.labels <= room.labels
        and (spec.max_per_node is None or room.mine.get(crawl, 0) < spec.max_per_node)
    ]
    fit = [room for room in fit if room.name not in avoid] or fit
    if not fit:
        return None
    if spec.placement == "random":
        return (rng or random).choices(fit, [room.weight for room in fit])[0]
    given = turns or {}

    def order(room: Room) -> tuple[float, ...]:
        mine = (room.mine.get(crawl, 0) + 1) / room.weight
        load = (room.busy + 1) / (room.capacity * room.weight)
        if spec.placement == "round-robin":
            return (given.get(room.name, 0) + 1) / room.weight, mine, load
        return (load, mine) if spec.placement == "least-loaded" else (mine, load)

    return min(fit, key=lambda room: (order(room), room.name))


def shortage(crawl: str, spec: CrawlSpec, rooms: Sequence[Room]) -> str:
    """Why ``choose`` found no node, in words."""
    labelled = [room for room in rooms if spec.labels <= room.labels]
    if not labelled:
        return f"no node has the labels {', '.join(sorted(spec.labels))}" if spec.labels else "there is no node"
    opened = [room for room in labelled if room.open]
    if not opened:
        return f"none of {', '.join(room.name for room in labelled)} takes work now"
    if spec.max_per_node and all(room.mine.get(crawl, 0) >= spec.max_per_node for room in opened):
        return f"max_per_node is {spec.max_per_node}, and {', '.join(room.name for room in opened)} have as many"
    capacity = ", ".join(f"{room.name} {room.busy} of {room.capacity}" for room in opened)
    return f"the nodes are full ({capacity})"
