"""How a node is, and what is wrong with it; from looks at it, and from what its workers say in Redis."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from deploy.client import NodeClient
from deploy.errors import NodeUnreachable
from deploy.fanout import fan_out
from deploy.version_names import sorted_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deploy.fleet import NodeSpec
    from deploy.targets import Node

#: A clock that is further off makes logs and version names misleading, in seconds.
CLOCK_SECONDS = 5.0
#: Two polls of Scrapyd, at its default of 5 s: a job that waits longer beside a free slot is not being polled for.
POLL_PATIENCE_SECONDS = 11.0
#: A person waits for this, and none of these questions costs a node anything.
_TIMEOUT = (3.0, 10.0)


class Beat(Protocol):
    """What a worker says of itself in Redis (``spiders_project.jobs.record.JobRecord`` is one)."""

    @property
    def id(self) -> str:
        """Scrapyd's job id."""

    @property
    def node(self) -> str:
        """``NODE_NAME`` where it runs."""

    @property
    def alive(self) -> bool:
        """Whether it has said so lately."""

    @property
    def seen_at(self) -> float | None:
        """When it last did, in unix seconds."""

    @property
    def load(self) -> float | None:
        """The node's load average over the last minute."""

    @property
    def memory(self) -> int | None:
        """Resident memory of the worker, in bytes."""


@dataclass(frozen=True)
class Sample:
    """One look at a node.

    Attributes:
        at: When, in seconds of the monotonic clock.
        versions: Of our project, as Scrapyd sorts them.
        pending: Ids of jobs that wait, of all projects.
        running: Ids of jobs that run, of all projects.
        finished: How many have ended.
        clock_off: How far its clock is before ours, in seconds.
    """

    at: float
    versions: tuple[str, ...]
    pending: tuple[str, ...]
    running: tuple[str, ...]
    finished: int
    clock_off: float | None = None


@dataclass
class Health:
    """One node.

    Attributes:
        state: ``ok``, ``drained``, ``faulty``, ``refused`` (answered otherwise than Scrapyd does), ``unreachable``.
        problems: What is wrong, in sentences.
        version: What a plain ``schedule.json`` runs there.
        pending: Jobs that wait; of all projects, as the next two.
        running: Jobs that run.
        finished: Jobs that have ended, as far as Scrapyd remembers.
        capacity: Workers that it runs at once, by fleet.toml.
        free: Of these, how many could start now.
        load: Its load average over the last minute, as its workers tell.
        memory: What its workers take, in bytes.
        seen_at: When it or a worker of it was last heard of, in unix seconds.
        workers: Living workers that say they are there.
    """

    name: str
    url: str
    state: str
    problems: list[str] = field(default_factory=list)
    version: str | None = None
    pending: int | None = None
    running: int | None = None
    finished: int | None = None
    capacity: int = 0
    free: int | None = None
    load: float | None = None
    memory: int | None = None
    seen_at: float | None = None
    workers: int = 0


def look_at(node: Node) -> Sample:
    """Ask one node.

    Raises:
        NodeError: It does not answer, or not as Scrapyd does.
    """
    client = NodeClient(node, timeout=_TIMEOUT)
    jobs = client.all_jobs()
    return Sample(
        at=time.monotonic(),
        versions=tuple(sorted_versions(client.list_versions(node.project))),
        pending=tuple(job["id"] for job in jobs["pending"]),
        running=tuple(job["id"] for job in jobs["running"]),
        finished=len(jobs["finished"]),
        clock_off=client.session.clock_off,
    )


def look_again(nodes: Sequence[Node], capacities: Mapping[str, int], patience: float) -> Looks:
    """Look at all nodes, and once more at those that keep jobs waiting beside free slots, over ``patience`` seconds."""
    first = fan_out(nodes, look_at)
    samples = {name: [sample] for name, sample in first.done.items()}
    errors = dict(first.failed)
    for _ in range(2):
        waiting = [
            node for node in nodes if node.name in samples and is_waiting(samples[node.name], capacities[node.name])
        ]
        if not waiting or not patience:
            break
        time.sleep(patience / 2)
        for name, sample in fan_out(waiting, look_at).done.items():
            samples[name].append(sample)
    return Looks(samples, errors)


@dataclass(frozen=True)
class Looks:
    """By node: the looks that were answered, or why the first one was not."""

    samples: dict[str, list[Sample]]
    errors: Mapping[str, Exception]


def is_waiting(samples: Sequence[Sample], capacity: int) -> bool:
    """Whether a job waited through all ``samples`` while there were free slots and none was started."""
    first, last = samples[0], samples[-1]
    waited = set(first.pending).intersection(*(sample.pending for sample in samples))
    started = set(last.running) - set(first.running)
    return bool(waited) and not started and all(len(sample.running) < capacity for sample in samples)


def poller_is_stuck(samples: Sequence[Sample], capacity: int, patience: float = POLL_PATIENCE_SECONDS) -> bool:
    """Whether Scrapyd has stopped to look for jobs (scrapyd#543): seen by looks over at least ``patience`` seconds."""
    return is_waiting(samples, capacity) and samples[-1].at - samples[0].at >= patience


def judge(
    node: Node,
    looks: Looks,
    spec: NodeSpec,
    beats: Sequence[Beat],
    *,
    drained: bool = False,
    last_seen: float | None = None,
    patience: float = POLL_PATIENCE_SECONDS,
) -> Health:
    """What the looks and the workers' heartbeats say of one node.

    Args:
        node: The node.
        looks: Of ``look_again``.
        spec: What fleet.toml says of it.
        beats: What the workers of all nodes say.
        drained: Whether it gets no new work.
        last_seen: When anybody last got an answer from it, in unix seconds.
        patience: Of ``look_again``.
    """
    mine = [beat for beat in beats if beat.node == node.name and beat.alive]
    seen = [at for at in (last_seen, *(beat.seen_at for beat in beats if beat.node == node.name)) if at]
    health = Health(node.name, node.url, "ok", capacity=spec.capacity, workers=len(mine))
    if mine:
        newest = max(mine, key=lambda beat: beat.seen_at or 0.0)
        health.load = newest.load
        health.memory = sum(beat.memory or 0 for beat in mine) or None
    health.seen_at = max(seen, default=None)
    error = looks.errors.get(node.name)
    if error is not None:
        health.state = "unreachable" if isinstance(error, NodeUnreachable) else "refused"
        health.problems.append(str(error).removeprefix(f"{node.name}: "))
        if mine:
            health.problems.append(f"{_count(len(mine), 'worker')} of it live all the same, and are left alone")
        return health
    samples = looks.samples[node.name]
    last = samples[-1]
    health.version = last.versions[-1] if last.versions else None
    health.pending, health.running, health.finished = len(last.pending), len(last.running), last.finished
    health.free = max(0, spec.capacity - health.pending - health.running)
    health.seen_at = time.time()
    if poller_is_stuck(samples, spec.capacity, patience):
        health.problems.append(
            f"the poller is stuck: {_count(len(last.pending), 'job')} pending, {len(last.running)} of {spec.capacity} "
            "running and none started; restart Scrapyd (or capacity in fleet.toml is more than its max_proc)"
        )
    known = {*last.running, *last.pending}
    if orphans := sorted(beat.id for beat in mine if beat.id not in known):
        health.problems.append(
            f"{_count(len(orphans), 'orphan')}: Scrapyd was restarted and has forgotten them, and they run on: "
            + ", ".join(orphans)
        )
    if last.clock_off is not None and abs(last.clock_off) > CLOCK_SECONDS:
        health.problems.append(
            f"its clock is {abs(last.clock_off):.0f} s {'ahead of' if last.clock_off > 0 else 'behind'} this machine's"
        )
    if health.problems:
        health.state = "faulty"
    elif drained:
        health.state = "drained"
    return health


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
