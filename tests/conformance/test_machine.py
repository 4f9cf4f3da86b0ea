"""Random lives of a crawl: after each step the frontier on Redis must be what the model is.

``HYPOTHESIS_SECONDS=3600 pytest -m soak tests/conformance/test_machine.py`` goes on for an hour. A failure shows the
life that it found; ``HYPOTHESIS_SHRINK=1`` looks for the shortest one.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from spiders_project.frontier.contract import Ack, Answer, Ask, Bury, GiveBack, HostLimits, Left, Pause, Refuse, Slow
from spiders_project.frontier.contract import SeedVerdict as Verdict
from tests.conformance.world import Facts, ModelWorld, RedisWorld, Worker, put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spiders_project.frontier.contract import Claim, Operation

STEPS, EXAMPLES = 60, 400
SHRINK = bool(os.environ.get("HYPOTHESIS_SHRINK"))  # takes minutes
WORKERS = ("one", "two", "three")
HOSTS = ("a", "b", "c")
PATIENCE = 10_000
LIMITS = (
    {"limits": HostLimits()},
    {"limits": HostLimits(delay_ms=300, concurrency=2), "host_limits": {"b": HostLimits(), "c": HostLimits(0, 0, 1)}},
    {"limits": HostLimits(concurrency=3), "order": "lifo", "host_limits": {"c": HostLimits(delay_ms=2500)}},
    {"limits": HostLimits(delay_ms=50), "max_pages": 12},
    {"expire_ms": 20_000},
)

workers = st.sampled_from(WORKERS)
hosts = st.sampled_from(HOSTS)
puts = st.builds(
    put,
    hosts,
    st.none() | st.integers(-20, 20),
    priority=st.sampled_from((0, 0, 0, 1, -1, 7, 10**9)),
    force=st.booleans(),
    delay_ms=st.sampled_from((0, 0, 0, 100, 4000)),
)


class Machine(RuleBasedStateMachine):
    """Three workers of one crawl, in two worlds."""

    redis: RedisWorld  # set by the test
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.redis.reset()
        self.model = ModelWorld()
        self.pairs: dict[str, tuple[Worker, Worker]] = {}
        self.held: dict[str, dict[str, Claim]] = {name: {} for name in WORKERS}
        self.terms: dict[str, Any] = {}
        self.slots: set[str] = set()
        self.runs: dict[str, str] = {"": ""}
        self.seeds = 0

    # ------------------------------------------------------------------ both worlds at once

    def pair(self, name: str) -> tuple[Worker, Worker]:
        if name not in self.pairs:
            version = "2" if name == "two" else "1"
            ours, theirs = (world.worker(name, version=version, **self.terms) for world in (self.model, self.redis))
            self.pairs[name] = ours, theirs
        return self.pairs[name]

    def same(self, expected: Any, found: Any) -> Any:
        assert found == expected
        return expected

    def say(self, name: str, *operations: Operation, again: bool = False, **wishes: Any) -> Answer:
        ours, theirs = self.pair(name)
        expected = ours.again() if again else ours.say(*operations, **wishes)
        found = theirs.again() if again else theirs.say(*operations, **wishes)
        assert self.runs.setdefault(expected.run, found.run) == found.run
        for field in ("claims", "dropped", "seeds", "open", "next_ms", "ended", "lost"):
            assert getattr(found, field) == getattr(expected, field), field
        held = self.held[name]
        if expected.lost:
            held.clear()
        held.update({claim.request_id: claim for claim in expected.claims})
        return expected

    # ------------------------------------------------------------------ rules

    @rule(choice=st.sampled_from(LIMITS))
    @precondition(lambda self: not self.pairs)
    def crawl(self, choice: dict[str, Any]) -> None:
        self.terms = choice

    @rule(name=workers, batch=st.lists(puts, min_size=1, max_size=6))
    def put(self, name: str, batch: list[Any]) -> None:
        self.say(name, *batch)

    @rule(name=workers, want=st.integers(0, 6), share=st.integers(0, 3), local=st.sampled_from((0, 0, 0, 1)))
    def claim(self, name: str, want: int, share: int, local: int) -> None:
        held = [claim.host for claim in self.held[name].values()]
        self.say(name, want=want, share=share, local=local, held={host: held.count(host) for host in held})

    @rule(name=workers, data=st.data(), found=st.lists(puts, max_size=3), want=st.integers(0, 3), page=st.booleans())
    def ack(self, name: str, data: st.DataObject, found: list[Any], want: int, page: bool) -> None:
        if id_ := self._one_of(name, data):
            self.say(name, *found, Ack(id_, int(page)), want=want)
            self.held[name].pop(id_, None)

    @rule(name=workers, data=st.data(), kind=st.sampled_from((Bury, GiveBack, Left, Refuse)))
    def settle(self, name: str, data: st.DataObject, kind: type) -> None:
        id_ = self._one_of(name, data)
        if not id_:
            return
        arguments: tuple[Any, ...] = (b"{}",) if kind is Bury else ()
        if kind is Refuse:
            arguments = b"{}", self.pair(name)[0].version
        self.say(name, kind(id_, *arguments))
        if kind is not Left:
            self.held[name].pop(id_, None)

    @rule(name=workers, data=st.data(), retry=puts)
    def retry(self, name: str, data: st.DataObject, retry: Any) -> None:
        """A nack: the request comes again later, in a put of its own."""
        if id_ := self._one_of(name, data):
            self.say(name, put(retry.host, delay_ms=1000), Left(id_), Ack(id_))
            self.held[name].pop(id_, None)

    @rule(name=workers, other=workers, data=st.data())
    def meddle(self, name: str, other: str, data: st.DataObject) -> None:
        """A worker speaks of a request that is another's."""
        if name != other and (id_ := self._one_of(other, data)) and id_ not in self.held[name]:
            self.say(name, Left(id_), Ack(id_, 1), GiveBack(id_), Bury(id_, b"{}"))

    @rule(name=workers, host=hosts, pause=st.sampled_from((10, 1000, 30_000)))
    def pause(self, name: str, host: str, pause: int) -> None:
        self.say(name, Pause(host, pause))

    @rule(name=workers, host=hosts, delay=st.sampled_from((0, 10, 1000)), first=st.booleans())
    def slow(self, name: str, host: str, delay: int, first: bool) -> None:
        self.say(name, Slow(host, delay, first))

    @rule(name=workers)
    def say_again(self, name: str) -> None:
        if self.pair(name)[0].sequence:
            self.say(name, again=True)

    @rule(name=workers, jump=st.sampled_from((-1, 1)))
    def lag(self, name: str, jump: int) -> None:
        """A replica that lagged was promoted, or the worker was taken for dead: its number does not fit."""
        for worker in self.pair(name):
            worker.sequence = max(0, worker.sequence + jump)
        self.say(name, put("a", 1))

    @rule(ms=st.sampled_from((1, 19, 50, 300, 1000, 2500, 5000, 70_000, -400, -30_000)))
    def advance(self, ms: int) -> None:
        self.model.advance(ms)
        self.redis.advance(ms)

    @rule(name=workers, judges=st.booleans())
    def beat(self, name: str, judges: bool) -> None:
        ours, theirs = self.pair(name)
        patience = PATIENCE if judges else 0
        self.same(ours.beat(patience, 2), theirs.beat(patience, 2))

    @rule(dead=workers, judge=workers)
    @precondition(lambda self: any(self.held.values()))
    def crash(self, dead: str, judge: str) -> None:
        """A worker is killed; another beats on until the leases have returned. Its name joins again."""
        if dead == judge:
            return
        self.beat(dead, judges=False)
        for _ in range(5):
            self.beat(judge, judges=True)
            self.advance(PATIENCE // 4)
        self._gone(dead)

    @rule(name=workers)
    def leave(self, name: str) -> None:
        for worker in self.pair(name):
            worker.leave()
        self._gone(name)

    @rule(name=workers, data=st.data())
    def reconcile(self, name: str, data: st.DataObject) -> None:
        held = self.held[name]
        kept = data.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else []
        ours, theirs = self.pair(name)
        for id_ in self.same(ours.reconcile(*kept), theirs.reconcile(*kept)):
            held.pop(id_)
        self.held[name] = {id_: held[id_] for id_ in kept if id_ in held}

    @rule(name=workers, host=hosts, slot=st.booleans(), again=st.booleans(), data=st.data())
    def book(self, name: str, host: str, slot: bool, again: bool, data: st.DataObject) -> None:
        bookings = [claim.booking for claim in self.held[name].values() if claim.host == host]
        patience, delay = (data.draw(st.sampled_from((0, 500))) for _ in range(2))
        asks = [Ask(host, data.draw(st.sampled_from([0, *bookings])), slot, patience, delay), Ask(host)]
        ours, theirs = self.pair(name)
        for _ in range(1 + again):  # the first reply is lost
            for grant in self.same(ours.book(*asks), theirs.book(*asks)):
                if grant.slot_id:
                    self.slots.add(grant.slot_id)

    @rule(name=workers, data=st.data())
    @precondition(lambda self: self.slots)
    def free_slot(self, name: str, data: st.DataObject) -> None:
        self.say(name, Left(data.draw(st.sampled_from(sorted(self.slots)))))

    @rule(name=workers, batch=st.lists(puts, max_size=2))
    def start(self, name: str, batch: list[Any]) -> None:
        ours, theirs = self.pair(name)
        self.same(ours.start(*batch), theirs.start(*batch))

    @rule(count=st.integers(1, 3))
    def push_seeds(self, count: int) -> None:
        entries = [str(self.seeds + number).encode() for number in range(count)]
        self.seeds += count
        for world in (self.model, self.redis):
            world.push_seeds(*entries)

    @rule(name=workers, count=st.integers(1, 3), seed=puts, pages=st.sampled_from((0, 0, 5)), stale=st.booleans())
    def take_seeds(self, name: str, count: int, seed: Any, pages: int, stale: bool) -> None:
        ours, theirs = self.pair(name)
        entries = self.same(ours.peek(count), theirs.peek(count)) + ([b"taken before"] if stale else [])
        verdicts = [
            Verdict(entry, [seed], max_pages=pages)
            if int(entry[-1:] or b"0", 36) % 3
            else Verdict(entry, rejected=entry)
            for entry in entries
        ]
        self.same(ours.take(*verdicts), theirs.take(*verdicts))

    def _one_of(self, name: str, data: st.DataObject) -> str | None:
        return data.draw(st.sampled_from(sorted(self.held[name]))) if self.held[name] else None

    def _gone(self, name: str) -> None:
        self.held[name].clear()
        for worker in self.pair(name):
            worker.sequence = 0

    # ------------------------------------------------------------------ what must be true after each step

    @invariant()
    def both_worlds_are_the_same_and_consistent(self) -> None:
        type(self).steps += 1
        look = self.redis.look()
        expected, found = self.model.facts(), self.redis.facts_of(look)
        for field in Facts.__dataclass_fields__:
            assert getattr(found, field) == getattr(expected, field), field
        check(found, look, self.terms)


def check(facts: Facts, look: dict[str, Any], terms: dict[str, Any]) -> None:
    """What is true of the frontier on Redis at every moment, whatever the model says."""
    queued = [id_ for queue in facts.queues.values() for id_, _ in queue]
    leased = [id_ for leases in facts.leases.values() for id_ in leases]
    everywhere = [*queued, *facts.delayed, *leased]
    assert len(everywhere) == len(set(everywhere)), "a request is in two places"
    assert set(everywhere) == set(facts.requests), "a request is nowhere, or a place has no request"
    assert facts.leased == len(leased)
    assert not facts.dead & set(facts.requests)
    leases = [value for _, held in look["leases"] for value in held[1::2]]
    downloading = [value.split(" ", 2)[2] for value in leases if value.split(" ")[1] == "1"]
    assert facts.active == {host: downloading.count(host) for host in downloading}
    assert {worker for worker, _ in look["leases"]} <= set(facts.workers), "nobody would find its leases"
    ready = set(facts.ready)
    assert not ready & set(facts.waiting)
    assert ready <= set(facts.queues), "a ready host has nothing to give"
    for host in set(facts.queues) - ready - set(facts.waiting):
        limits = terms.get("host_limits", {}).get(host, terms.get("limits", HostLimits()))
        assert facts.active.get(host, 0) >= limits.concurrency > 0, f"{host} has work and is nowhere"
    if "expire_ms" not in terms:  # or buckets that nobody reads any more wait for their end
        assert sum(size for size, _ in look["buckets"]) == facts.seen
    assert {encoding for _, encoding in look["buckets"]} <= {"intset"}


@pytest.fixture
def machine(redis_world: RedisWorld) -> Iterator[type[Machine]]:
    Machine.redis = redis_world
    Machine.steps = 0
    yield Machine
    print(f"{Machine.steps} steps")  # noqa: T201 - shown with -rP


QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example)


def live(machine: type[Machine], examples: int) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=QUIET,
        phases=(Phase.generate, Phase.shrink) if SHRINK else (Phase.generate,),
        report_multiple_bugs=False,
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=profile)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_redis_does_what_the_model_does_for_twenty_thousand_steps(machine: type[Machine]):
    while machine.steps < 20_000:
        live(machine, EXAMPLES if not machine.steps else 50)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_redis_does_what_the_model_does_for_as_long_as_asked(machine: type[Machine]):
    end = time.monotonic() + float(os.environ.get("HYPOTHESIS_SECONDS", "300"))
    while time.monotonic() < end:
        live(machine, EXAMPLES)
    assert machine.steps > 0
