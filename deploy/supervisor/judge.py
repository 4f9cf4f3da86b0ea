"""One job: what has become of it, by its node's list and by its worker's heartbeat."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deploy.supervisor.limits import Limits
    from deploy.supervisor.observe import Listed, NodeView, World
    from deploy.supervisor.records import Placed


class State(Enum):
    """What a job does; the first five hold its place."""

    STARTING = "starting"
    RUNNING = "running"
    CLOSING = "closing"
    ORPHAN = "orphan"
    UNREACHABLE = "unreachable"
    STUCK = "stuck"
    HUNG = "hung"
    OVERDUE = "overdue"
    ENDED = "ended"
    LOST = "lost"


LIVE = frozenset({State.STARTING, State.RUNNING, State.CLOSING, State.ORPHAN, State.UNREACHABLE})


class Beat(Enum):
    """A worker's heartbeat."""

    NEVER = "never"
    ALIVE = "alive"
    GONE = "gone"
    LEFT = "left"


@dataclass(frozen=True)
class Verdict:
    """What a job does, and why one thinks so.

    Attributes:
        state: What it does.
        why: For a person.
        clean: It ended by itself, having said so to the frontier.
        blameless: Its node is to blame, and not what it ran.
    """

    state: State
    why: str = ""
    clean: bool = False
    blameless: bool = False

    @property
    def live(self) -> bool:
        """Whether it holds its place."""
        return self.state in LIVE


def beat_of(job: Placed, world: World) -> Beat:
    """How the heartbeat of ``job`` is; one that was declared dead by other workers is not taken for one that left."""
    worker = world.worker(job)
    if worker is None:
        return Beat.NEVER
    if worker.alive:
        return Beat.ALIVE
    if worker.seen_at:
        return Beat.GONE
    last = world.beats.get(job.id)
    if job.left_at is None and last is not None and world.now - last > worker.lease / 2:
        return Beat.GONE
    return Beat.LEFT


def judge(job: Placed, world: World, limits: Limits) -> Verdict:
    """What has become of ``job``."""
    if job.id in world.refused:
        why = world.refused[job.id]
        return Verdict(State.ENDED, why or f"{job.node} was too slow to take it", blameless=not why)
    node = world.nodes.get(job.node)
    beat = beat_of(job, world)
    if node is None:
        return _unlisted(beat, f"scrapy.cfg has no node {job.node} any more", world)
    if not node.answers:
        return _silent(job, node, beat, world, limits)
    listed = node.jobs.get(job.id)
    return _forgotten(job, beat, world, limits) if listed is None else _as_listed(job, node, beat, world, limits)


def _as_listed(job: Placed, node: NodeView, beat: Beat, world: World, limits: Limits) -> Verdict:
    listed = node.jobs[job.id]
    if listed.state == "pending":
        return _pending(job, node, world, limits)
    if listed.state == "running":
        return _running(job, beat, world, limits)
    clean = beat is Beat.LEFT
    return Verdict(State.ENDED, "its worker left the crawl" if clean else "its process ended", clean=clean)


def _silent(job: Placed, node: NodeView, beat: Beat, world: World, limits: Limits) -> Verdict:
    if beat is Beat.ALIVE:
        return Verdict(State.UNREACHABLE, node.error)
    if beat is Beat.LEFT and node.silent_for > limits.silence:
        return Verdict(State.ENDED, "its worker left the crawl", clean=True)
    patience = limits.begin if beat is Beat.NEVER else limits.silence
    if node.silent_for > limits.silence and world.judging and world.now - job.at > patience:
        return Verdict(State.LOST, f"{node.error}, and its worker sends no heartbeat", blameless=True)
    return Verdict(State.RUNNING if job.running_at else State.STARTING, node.error)


def _unlisted(beat: Beat, why: str, world: World) -> Verdict:
    if beat is Beat.ALIVE:
        return Verdict(State.UNREACHABLE, why)
    return Verdict(State.ENDED if world.judging else State.UNREACHABLE, why, blameless=True)


def _forgotten(job: Placed, beat: Beat, world: World, limits: Limits) -> Verdict:
    """Its node answers and does not list it: Scrapyd was restarted, or never heard of it."""
    if beat is Beat.ALIVE:
        return Verdict(State.ORPHAN, f"{job.node} has forgotten it (Scrapyd was restarted), and its worker lives")
    if beat is Beat.LEFT:
        return Verdict(State.ENDED, "its worker left the crawl", clean=True)
    if world.now - job.at <= limits.appear:
        return Verdict(State.STARTING)
    if beat is Beat.GONE and not world.judging:
        return Verdict(State.RUNNING)
    return Verdict(State.ENDED, f"{job.node} does not know it any more", blameless=True)


def _pending(job: Placed, node: NodeView, world: World, limits: Limits) -> Verdict:
    waited = world.now - max(job.at, node.started_at)
    if waited > limits.pending and node.count("running") < node.spec.capacity:
        return Verdict(State.STUCK, f"pending for {waited:.0f} s on {node.name}, which has free slots", blameless=True)
    return Verdict(State.STARTING)


def _running(job: Placed, beat: Beat, world: World, limits: Limits) -> Verdict:
    ran = world.now - (job.running_at or world.now)
    timeout = world.wanted[job.crawl].spec.timeout if job.crawl in world.wanted else None
    if beat is Beat.LEFT:
        left = world.now - (job.left_at or world.now)
        return Verdict(State.CLOSING) if left <= limits.close else Verdict(State.HUNG, "its process does not end")
    if beat is Beat.GONE and world.judging:
        return Verdict(State.HUNG, "its process runs and sends no heartbeat")
    if beat is Beat.NEVER and world.judging and ran > limits.start:
        return Verdict(State.HUNG, f"it has run for {ran:.0f} s and never sent a heartbeat")
    if timeout and ran > timeout:
        return Verdict(State.OVERDUE, f"it ran longer than its timeout of {timeout:g} s")
    return Verdict(State.RUNNING if beat is not Beat.NEVER else State.STARTING)


def next_signal(
    job: Placed, listed: Listed, now: float, limits: Limits, patience: float | None = None
) -> tuple[str, Placed] | None:
    """The signal that is due for a job that is to end, and the job as it is then; None: none yet.

    INT, wait (for ``patience`` where one was named), INT, KILL. Until a process has a log it has no handler either,
    and what is sent is not counted.
    """
    assert job.stop_at is not None
    stop = limits.stop if patience is None else patience
    gentle = ((0.0, "INT"), (stop, "INT"), (stop + limits.drop, "KILL"))
    steps = ((0.0, "INT"), (limits.drop, "KILL")) if job.hard else gentle
    after, signal = steps[min(job.signals, len(steps) - 1)]
    since = now - job.stop_at
    if since < after or now - job.signalled_at < min(1.0, limits.poll * 2):
        return None
    heard = listed.hears or since > limits.drop
    return signal, job.but(signals=job.signals + heard, signalled_at=now)
