"""Each firing starts its crawl once: whoever supervises, dies or comes back. Clocks are the test's own."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Barrier, Lock, Thread

import pytest

from deploy.errors import DeployError, LeaseLost, UsageError
from deploy.fleet import Fleet, TimerSpec
from deploy.keys import LEASE, TIMERS
from deploy.timers.hook import CrawlStarts, timer_hook
from deploy.timers.state import TimerStore
from deploy.timers.tick import Timers

#: Monday, 30 November 2026, 22:00 UTC.
T0 = 1_796_076_000.0
DAY = 86_400.0


@dataclass
class Record:
    run: int = 0
    waiting: int = 0
    state: str = "idle"


class Ledger:
    """The records of the crawls that are wanted, shared by all supervisors; can be told to fail around a start."""

    def __init__(self, overlap: str = "skip") -> None:
        self.records: dict[str, Record] = {}
        self.specs = []
        self.fails_before = self.fails_after = False
        self.overlap = overlap
        self._lock = Lock()

    def get(self, name):
        return self.records.get(name)

    def start(self, name, spec, *, declared=False):
        if self.fails_before:
            raise ZeroDivisionError
        with self._lock:
            record = self.records.setdefault(name, Record())
            if record.state == "idle":
                record.run, record.state = record.run + 1, "up"
                self.specs.append((name, spec, declared))
            elif self.overlap == "queue":
                record.waiting += 1
        if self.fails_after:
            raise ZeroDivisionError

    def end(self, name):
        record = self.records[name]
        record.state = "idle"
        if record.waiting:
            record.run, record.waiting, record.state = record.run + 1, record.waiting - 1, "up"

    def runs(self, name="site"):
        return self.records[name].run if name in self.records else 0


def fleet(**timers):
    return Fleet(crawls={"site": {"spider": "site", "workers": 3}, "other": {"spider": "other"}}, timers=timers)


@pytest.fixture
def ledger():
    return Ledger()


@pytest.fixture
def tick(redis_client, ledger):
    """``tick(now, fleet)`` by a supervisor that has just been started, as each of them may be."""

    def call(now, what, *, token="", draw=lambda low, high: high):
        said = []
        Timers(TimerStore(redis_client, token), CrawlStarts(ledger), said.append, draw).tick(now, what)
        return said

    return call


@pytest.fixture
def state(redis_client):
    return lambda name="t": TimerStore(redis_client).entry(name).state


def test_a_timer_fires_at_its_time_and_not_before(tick, ledger, state):
    nightly = fleet(t={"cron": "0 3 * * *", "timezone": "Europe/Berlin", "crawl": "site"})
    assert tick(T0, nightly) == []
    assert tick(T0 + 4 * 3600 - 1, nightly) == []
    assert tick(T0 + 4 * 3600, nightly) == ["timer t: site: started"]
    assert tick(T0 + 4 * 3600 + 1, nightly) == []
    assert state().next == T0 + 4 * 3600 + DAY
    assert (state().last.result, state().last.due) == ("started", T0 + 4 * 3600)
    [(name, spec, declared)] = ledger.specs
    assert (name, spec.workers, declared) == ("site", 3, True)


def test_a_timer_of_a_spider_starts_it_as_one_job(tick, ledger):
    login = fleet(t={"interval": "1h", "spider": "login", "arguments": {"user": "me"}, "settings": {"A": "1"}})
    tick(T0, login)
    tick(T0 + 3600, login)
    [(name, spec, declared)] = ledger.specs
    assert (name, spec.spider, spec.workers, declared) == ("login", "login", 1, False)
    assert (spec.arguments, spec.settings) == ({"user": "me"}, {"A": "1"})


def test_many_supervisors_at_once_start_each_time_once(redis_client, ledger):
    often = fleet(t={"interval": 10, "crawl": "site"}, u={"interval": 10, "crawl": "other"})
    Timers(TimerStore(redis_client), CrawlStarts(ledger), lambda _: None).tick(T0, often)
    together = Barrier(6)

    def supervise():
        timers = Timers(TimerStore(redis_client), CrawlStarts(ledger), lambda _: None)
        for turn in range(1, 9):
            together.wait(20)
            timers.tick(T0 + 10 * turn, often)
            timers.tick(T0 + 10 * turn + 1, often)  # a claim whose owner was still at it
            if together.wait(20) == 0:
                for name in ("site", "other"):
                    assert ledger.runs(name) == turn
                    ledger.end(name)

    threads = [Thread(target=supervise) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (ledger.runs("site"), ledger.runs("other")) == (8, 8)


class Overtaken(TimerStore):
    """A store whose user is overtaken after it has read: another supervisor does a whole round meanwhile."""

    def __init__(self, client, meanwhile):
        super().__init__(client)
        self.meanwhile = meanwhile

    def read(self):
        found = super().read()
        self.meanwhile()
        return found


def test_a_supervisor_that_was_overtaken_claims_nothing(redis_client, tick, ledger):
    often = fleet(t={"interval": 60, "crawl": "site"})
    tick(T0, often)

    def meanwhile():
        tick(T0 + 60, often)
        ledger.end("site")

    Timers(Overtaken(redis_client, meanwhile), CrawlStarts(ledger), lambda _: None).tick(T0 + 60, often)
    assert ledger.runs() == 1


@pytest.mark.parametrize("where", ["fails_before", "fails_after"])
@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_a_supervisor_that_dies_while_it_starts_a_crawl_loses_and_doubles_nothing(tick, ledger, state, where, overlap):
    ledger.overlap = overlap
    often = fleet(t={"interval": 60, "crawl": "site"})
    tick(T0, often)
    setattr(ledger, where, True)
    with pytest.raises(ZeroDivisionError):
        tick(T0 + 60, often)
    assert state().claimed is not None
    setattr(ledger, where, False)
    assert tick(T0 + 75, often) == ["timer t: site: started"], "by whoever takes over"
    assert (ledger.runs(), ledger.records["site"].waiting) == (1, 0)
    assert state().claimed is None
    assert state().next == T0 + 120


class Dying(TimerStore):
    """A store whose user dies at one of its calls, before it or after it."""

    def __init__(self, client, at, *, after):
        super().__init__(client)
        self.at, self.after, self.calls = at, after, 0

    def _dies(self, call):
        self.calls += 1
        if self.calls != self.at:
            return call()
        if self.after:
            call()
        raise ZeroDivisionError

    def read(self):
        return self._dies(super().read)

    def swap(self, *args):
        return self._dies(lambda: TimerStore.swap(self, *args))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_whatever_call_a_supervisor_dies_at_each_time_starts_one_run(redis_client, tick, ledger, overlap, at, after):
    """The calls are: read all, claim, take the claim back."""
    ledger.overlap = overlap
    often = fleet(t={"interval": 60, "crawl": "site"})
    tick(T0, often)
    for turn in (1, 2, 3):
        dying = Timers(Dying(redis_client, at, after=after), CrawlStarts(ledger), lambda _: None)
        with pytest.raises(ZeroDivisionError):
            dying.tick(T0 + 60 * turn, often)
        tick(T0 + 60 * turn + 15, often)
        tick(T0 + 60 * turn + 16, often)
        assert (ledger.runs(), ledger.records["site"].waiting) == (turn, 0)
        ledger.end("site")


def test_a_supervisor_whose_lease_is_over_fires_nothing(tick, redis_client, ledger):
    often = fleet(t={"interval": 60, "crawl": "site"})
    redis_client.set(LEASE, "7 host:1")
    tick(T0, often, token="7")
    redis_client.set(LEASE, "8 host:2")
    with pytest.raises(LeaseLost):
        tick(T0 + 60, often, token="7")
    assert ledger.runs() == 0
    tick(T0 + 60, often, token="8")
    assert ledger.runs() == 1


@pytest.mark.parametrize(
    ("misfire", "started", "results"),
    [("once", 1, ["started"]), ("skip", 0, ["skipped"]), ("all", 5, ["started"] * 5)],
)
def test_times_that_passed_while_no_supervisor_ran(tick, ledger, state, misfire, started, results):
    daily = fleet(t={"cron": "0 12 * * *", "crawl": "site", "misfire": misfire})
    tick(T0, daily)
    found = []
    for second in range(7):
        if tick(T0 + 5 * DAY + second, daily):
            found.append(state().last.result)
        if ledger.runs():
            ledger.end("site")
    assert (ledger.runs(), found) == (started, results)
    assert state().next == T0 + 5 * DAY + 14 * 3600


def test_a_take_over_is_no_misfire(tick, ledger):
    daily = fleet(t={"cron": "0 12 * * *", "crawl": "site", "misfire": "skip"})
    tick(T0, daily)
    tick(T0 + 14 * 3600 + 20, daily)
    assert ledger.runs() == 1


def test_jitter_is_no_misfire(tick, ledger):
    daily = fleet(t={"cron": "0 12 * * *", "crawl": "site", "misfire": "skip", "jitter": 600})
    tick(T0, daily)
    tick(T0 + 14 * 3600 + 601, daily)
    assert ledger.runs() == 1


def test_no_more_runs_go_on_at_once_than_are_allowed(tick, ledger, state):
    ledger.overlap = "queue"
    often = fleet(t={"interval": 60, "crawl": "site", "max_instances": 2})
    tick(T0, often)
    for turn in (1, 2, 3):
        tick(T0 + 60 * turn, often)
    assert (ledger.runs(), ledger.records["site"].waiting) == (1, 1)
    assert (state().last.result, state().last.why) == ("skipped", "the run that it started goes on")
    ledger.end("site")
    tick(T0 + 240, often)
    assert (ledger.runs(), ledger.records["site"].waiting) == (2, 1)


def test_what_others_started_counts_for_the_overlap_and_not_for_the_timer(tick, ledger, state):
    often = fleet(t={"interval": 60, "crawl": "site"})
    tick(T0, often)
    ledger.start("site", None)
    tick(T0 + 60, often)
    assert (ledger.runs(), state().last.result, state().last.why) == (1, "skipped", "site runs already")


def test_jitter_is_drawn_once_and_outlives_a_restart(tick, ledger, state):
    daily = fleet(t={"cron": "0 12 * * *", "crawl": "site", "jitter": "10m"})
    tick(T0, daily, draw=lambda low, high: 0.25 * high)
    noon = T0 + 14 * 3600
    assert (state().base, state().next) == (noon, noon + 150)
    assert tick(noon + 149, daily, draw=lambda low, _: low) == []
    assert tick(noon + 150, daily) == ["timer t: site: started"]
    assert (state().base, state().next) == (noon + DAY, noon + DAY + 600)


def test_a_date_fires_once_also_when_its_timer_is_declared_anew(tick, ledger, state):
    spec = {"date": "2026-11-30T23:00:00+00:00", "crawl": "site"}
    once = Fleet.model_validate({"crawls": {"site": {}}, "timers": {"t": TimerSpec.model_validate(spec, strict=False)}})
    tick(T0, once)
    assert tick(T0 + 3601, once) == ["timer t: site: started"]
    assert state().next is None
    ledger.end("site")
    again = TimerSpec.model_validate({**spec, "jitter": 5.0}, strict=False)
    tick(T0 + 3700, once.model_copy(update={"timers": {"t": again}}))
    assert ledger.runs() == 1
    old = TimerSpec.model_validate({**spec, "date": "2026-11-29T00:00:00+00:00"}, strict=False)
    tick(T0, once.model_copy(update={"timers": {"u": old}}))
    assert (ledger.runs(), state("u").next) == (1, None), "a date that is long over is history"


def test_a_changed_declaration_counts_from_now_and_a_removed_one_is_forgotten(tick, redis_client, state):
    tick(T0, fleet(t={"interval": 3600, "crawl": "site"}, u={"interval": 60, "crawl": "site"}))
    tick(T0 + 30, fleet(t={"interval": 60, "crawl": "site"}))
    assert state().next == T0 + 90
    assert redis_client.hkeys(TIMERS) == [b"t"]


def test_a_timer_that_cannot_start_is_told_of_and_holds_up_no_other(tick, redis_client, ledger, state, monkeypatch):
    both = fleet(t={"interval": 60, "crawl": "site"}, u={"interval": 60, "crawl": "other"})
    tick(T0, both)
    redis_client.hset(TIMERS, "v", "no JSON")
    right = ledger.start

    def start(name, spec, *, declared=False):
        if name == "site":
            raise refusal
        right(name, spec, declared=declared)

    monkeypatch.setattr(ledger, "start", start)
    refusal = DeployError("no version yet")
    with pytest.raises(DeployError, match="no version yet"):
        tick(T0 + 60, both)
    assert ledger.runs("other") == 1
    assert state().claimed is not None, "tried again in the next round"
    refusal = UsageError("no such spider")
    tick(T0 + 61, both)
    assert (state().last.result, state().last.why) == ("failed", "no such spider")


def test_damage_in_one_state_is_mended_by_its_declaration(tick, redis_client, state):
    redis_client.hset(TIMERS, "t", '{"spec": 1')
    tick(T0, fleet(t={"interval": 60, "crawl": "site"}))
    assert state().next == T0 + 60


def test_the_hook_of_a_supervisor_goes_by_redis_and_its_own_lease(redis_client, ledger, state):
    redis_client.set(LEASE, "3 host:1")
    said = []
    hook = timer_hook(redis_client, lambda: fleet(t={"interval": 3600, "crawl": "site"}), lambda _: ledger, said.append)
    hook("3")
    assert abs(state().anchor - redis_client.time()[0]) < 5
    redis_client.delete(TIMERS)
    with pytest.raises(LeaseLost):
        hook("2")
    assert said == []
