"""The supervisor: round after round, as long as it has the lease; otherwise it stands by."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from deploy import keys
from deploy.crawls import Crawls, Wanted
from deploy.errors import ConnectError, DeployError, LeaseLost
from deploy.redis_errors import spoken
from deploy.supervisor.act import act
from deploy.supervisor.decide import decide
from deploy.supervisor.lease import LEASE_SECONDS, Lease
from deploy.supervisor.limits import Limits
from deploy.supervisor.observe import NodeView, NodeWatch, World, read_statuses
from deploy.supervisor.records import read_placed, read_seen

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    import redis

    from deploy.fleet import Fleet
    from deploy.supervisor.decision import Decision
    from deploy.supervisor.records import Placed
    from deploy.targets import Node

_EVENTS_KEPT = 1000


class Supervisor:
    """One of them; any number may run.

    Args:
        client: Of the fleet's Redis, with ``decode_responses`` off.
        nodes: The nodes of scrapy.cfg.
        fleet: Gives fleet.toml as it is now.
        version: Gives the released version, or nothing where there is none.
        seed: Pushes the seeds of a crawl that has a file of them.
        drained: Gives the names of nodes that get no new work, beside those of fleet.toml.
        died: Told of each job that ended without a word, and why one thinks so.
        say: Progress.
        limits: How patient it is.
        lease_seconds: How long its lease lasts without a renewal.
        also: Called each round while it acts, with its fencing token: timers, say.
    """

    def __init__(
        self,
        client: redis.Redis,
        nodes: Sequence[Node],
        *,
        fleet: Callable[[], Fleet],
        version: Callable[[], str],
        say: Callable[[str], None],
        seed: Callable[[Wanted], None] = lambda _: None,
        drained: Callable[[], set[str]] = set,
        died: Callable[[Placed, str], None] = lambda *_: None,
        limits: Limits | None = None,
        lease_seconds: float = LEASE_SECONDS,
        also: Sequence[Callable[[str], None]] = (),
    ) -> None:
        self.limits = limits or Limits()
        self.lease = Lease(client, lease_seconds)
        self._client = client
        self._lease_seconds = lease_seconds
        self._fleet = fleet
        self._version = version
        self._seed = seed
        self._drained = drained
        self._died = died
        self._say = say
        self._also = also
        self._watch = NodeWatch(nodes, self.limits)
        self._beats: dict[str, float] = {}
        self._running: dict[str, set[str]] = {}
        self._started: dict[str, float] = {}
        self._node_limits: dict[str, tuple[int, float]] = {}
        self._refused: dict[str, str] = {}
        self._redis_since: float | None = None
        self._complaints: dict[str, str] = {}

    def close(self) -> None:
        """Let another take over at once."""
        with suppress(DeployError):
            self.lease.give_back()
        self._watch.close()

    def run(self, stopped: threading.Event) -> None:
        """Until ``stopped``: act, or stand by while another acts; wait while Redis is away."""
        acted: bool | None = None
        while not stopped.is_set():
            began = time.monotonic()
            acts = self.turn()
            if acts != acted:
                self._say("acting" if acts else f"standing by: {self._holder()} acts")
            acted = acts
            stopped.wait(max(0.0, self.limits.poll - (time.monotonic() - began)))

    def settle(self, done: Callable[[], bool], seconds: float) -> bool:
        """Until ``done()`` or for so many seconds: act where nobody else does; whether it was done."""
        until = time.monotonic() + seconds
        while True:
            self.turn(patient=False)
            if done():
                return True
            if time.monotonic() > until:
                return False
            time.sleep(self.limits.poll)

    def turn(self, *, patient: bool = True) -> bool:
        """One round if the lease can be had; whether it could.

        Raises:
            ConnectError: Redis does not answer, and it is not ``patient``.
        """
        try:
            if not self.lease.take():
                self._hear_redis()
                self._watch.look()
                return False
            self._hear_redis()
            self.round()
        except LeaseLost:
            self.lease.token = ""
            return False
        except ConnectError as error:
            self._redis_since = None
            if not patient:
                raise
            self._complain("redis", f"waiting, and the nodes' jobs go on: {error}")
            return False
        except DeployError as error:
            if not patient:
                raise
            self._complain("round", str(error))
            return bool(self.lease.token)
        self._complain("round", "")
        return True

    def round(self) -> Decision:
        """Observe, decide, act."""
        world = self._observe()
        decision = decide(world, self.limits, version=self._version)
        decided = time.monotonic()
        self._write(decision)
        for name, (outcome, reason) in decision.ends.items():
            self._end(world.wanted[name], outcome, reason, world.now)
        for node, limit in decision.limits.items():
            self._node_limits[node] = limit, world.now + self.limits.distrust
            self._say(f"{node} does not start what it is given: it gets less for {self.limits.distrust:g} s")
        for job, why in decision.died:
            self._died(job, why)
        if time.monotonic() - decided > self._lease_seconds:
            raise LeaseLost("this process stood still, and another may act by now")
        refused, complaints = act(decision, self._watch.nodes, self.limits)
        self._refused = refused
        for complaint in complaints:
            self._complain(complaint.partition(":")[0], complaint)
        for number, also in enumerate(self._also):
            self._call(f"task {number}", also)
        return decision

    def _call(self, name: str, also: Callable[[str], None]) -> None:
        try:
            also(self.lease.token)
        except (ConnectError, LeaseLost):
            raise
        except DeployError as error:
            self._complain(name, str(error))
        else:
            self._complain(name, "")

    # ------------------------------------------------------------------ observing

    def _hear_redis(self) -> None:
        if self._redis_since is None:
            self._redis_since = time.monotonic()
            self._complain("redis", "")

    def _observe(self) -> World:
        crawls = Crawls(self._client, self.lease.token)
        self._trigger(crawls)
        heard = self._watch.look()
        wanted, placed = crawls.all(), read_placed(self._client)
        active = {name for name, crawl in wanted.items() if crawl.state != "idle"}
        statuses = read_statuses(self._client, wanted, active | {job.crawl for job in placed.values()})
        now = crawls.now()
        for status in statuses.values():
            for worker in status.workers:
                if worker.job and worker.seen_at:
                    self._beats[worker.job] = max(worker.seen_at, self._beats.get(worker.job, 0.0))
        self._beats = {job: at for job, at in self._beats.items() if job in placed}
        fleet, drained = self._fleet(), self._drained()
        nodes: dict[str, NodeView] = {}
        for name, one in heard.items():
            self._complain(name, one.error)
            self._note_starts(name, {job.id for job in one.jobs.values() if job.state == "running"}, now)
            limit, until = self._node_limits.get(name, (0, 0.0))
            spec = fleet.node(name)
            nodes[name] = NodeView(
                name,
                spec,
                jobs=one.jobs,
                silent_for=time.monotonic() - one.at if one.error else 0.0,
                error=one.error,
                drained=spec.drain or name in drained,
                limit=limit if until > now else None,
                started_at=self._started.get(name, 0.0),
            )
        return World(
            now=now,
            nodes=nodes,
            wanted=wanted,
            placed=placed,
            seen=read_seen(self._client),
            statuses=statuses,
            beats=self._beats,
            judging=self._redis_since is not None and time.monotonic() - self._redis_since > self.limits.redis,
            refused=self._refused,
        )

    def _note_starts(self, node: str, running: set[str], now: float) -> None:
        if running - self._running.get(node, set()):
            self._started[node] = now
            self._node_limits.pop(node, None)
        self._running[node] = running

    # ------------------------------------------------------------------ writing

    def _write(self, decision: Decision) -> None:
        changes: dict[tuple[str, str], str] = {}
        for job, placed in decision.placed.items():
            changes[keys.PLACED, job] = placed.model_dump_json() if placed else ""
        for job, why in decision.told.items():
            changes[keys.ENDING, job] = why
        for name, seen in decision.seen.items():
            changes[keys.SEEN, name] = seen.model_dump_json()
        self.lease.write(changes)
        for event in decision.events:
            self._say(event)
            with spoken():
                self._client.xadd(keys.EVENTS, {"text": event}, maxlen=_EVENTS_KEPT, approximate=True)

    def _end(self, wanted: Wanted, outcome: str, reason: str, now: float) -> None:
        def change(held: Wanted) -> Wanted:
            same = held.run == wanted.run and held.state == wanted.state
            return held.ended(now, outcome, reason) if same else held

        Crawls(self._client, self.lease.token).update(wanted.name, change)
        self._say(f"{wanted.name}: {outcome}: {reason}")

    def _trigger(self, crawls: Crawls) -> None:
        """Start what waits for the end of a run, its own or another crawl's; push what seeds a run lacks."""
        now, wanted = crawls.now(), crawls.all()
        for name, crawl in wanted.items():
            if crawl.state == "idle" and crawl.waiting:
                crawls.update(name, lambda held: held.started(now, waiting=max(0, held.waiting - 1)))
            elif crawl.due_after(wanted):
                self._say(f"{name}: starting after {crawl.spec.after and crawl.spec.after.crawl}")
                crawls.follow(name, wanted)
            elif crawl.state == "up" and crawl.spec.seeds and crawl.seeded < crawl.run:
                self._push_seeds(crawls, crawl)

    def _push_seeds(self, crawls: Crawls, crawl: Wanted) -> None:
        try:
            self._seed(crawl)
        except ConnectError:
            raise
        except DeployError as error:
            self._complain(f"seeds of {crawl.name}", str(error))
            return
        crawls.update(crawl.name, lambda held: held.model_copy(update={"seeded": max(held.seeded, crawl.run)}))

    def _complain(self, subject: str, text: str) -> None:
        """Say what is wrong once, and once more when it is well again."""
        known = self._complaints.get(subject, "")
        if text and not known:
            self._say(text)
        elif known and not text:
            self._say(f"{subject}: well again")
        self._complaints[subject] = text

    def _holder(self) -> str:
        try:
            return self.lease.holder() or "nobody"
        except DeployError:
            return "nobody"
