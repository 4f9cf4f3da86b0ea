"""A supervisor's round over the timers: which are due, claimed by one, and started once.

A firing has three steps, each safe to repeat: it is claimed (and the next time is settled) in one step in Redis, its
crawl is started, and the claim is taken back. Whoever finds a claim that another left behind sees by the number of
starts that its crawl had accepted whether it was started, and starts it if not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deploy.errors import ConnectError, DeployError, LeaseLost, UsageError
from deploy.fleet import CrawlSpec
from deploy.timers.state import Entry, Firing, Last, TimerState, TimerStore, digest
from deploy.timers.times import next_after, time_of_date

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.fleet import Fleet, TimerSpec

    Draw = Callable[[float, float], float]

#: A time that passed longer ago was missed, in seconds: another supervisor takes over within 15.
GRACE = 60.0
#: A date that had passed for longer when its timer was first seen is history, in seconds.
_HISTORY = 3600.0


@dataclass(frozen=True)
class Standing:
    """How a crawl stands.

    Attributes:
        accepted: The number of its starts so far, those that wait for the end of a run among them; only grows.
        run: The number of the newest run; so many of the accepted starts have become one.
        up: Whether that run goes on.
    """

    accepted: int = 0
    run: int = 0
    up: bool = False


class Starts(Protocol):
    """What starts crawls, as ``deploy start`` does."""

    def standing(self, name: str) -> Standing:
        """How the crawl ``name`` stands; nothing was accepted where it was never started."""
        ...

    def start(self, name: str, spec: CrawlSpec, *, declared: bool) -> None:
        """Start it, or what its ``overlap`` says where it runs already.

        Raises:
            UsageError: It can never be started like this.
            DeployError: Not now.
        """
        ...


class Timers:
    """All timers.

    Args:
        store: Where they are remembered.
        starts: What starts crawls.
        say: Told of each firing.
        draw: ``random.uniform``, for the jitter.
    """

    def __init__(
        self,
        store: TimerStore,
        starts: Starts,
        say: Callable[[str], None],
        draw: Draw = random.uniform,
    ) -> None:
        self._store = store
        self._starts = starts
        self._say = say
        self._draw = draw

    def tick(self, now: float, fleet: Fleet) -> None:
        """Fire what is due at ``now`` (unix seconds by Redis's clock), and forget timers that are declared no more.

        One that fails does not hold up the others; the first failure is raised when all had their turn.

        Raises:
            ConnectError: Redis does not answer.
            LeaseLost: Another supervisor acts.
            DeployError: A crawl cannot be started now; it is tried again.
        """
        known = self._store.read()
        failure: DeployError | None = None
        for name in known.keys() - fleet.timers.keys():
            known[name].swap(None)
        for name, spec in fleet.timers.items():
            try:
                self._turn(known.get(name) or self._store.new(name), spec, fleet, now)
            except (ConnectError, LeaseLost):
                raise
            except DeployError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _turn(self, entry: Entry, spec: TimerSpec, fleet: Fleet, now: float) -> None:
        state = declared(entry.state, spec, now, self._draw)
        if state != entry.state and not entry.swap(state):
            return  # somebody is at it
        if state.claimed is None:
            claimed = self._due(entry.name, state, spec, now)
            if claimed is None or not entry.swap(claimed):
                return
        self._fire(entry, spec, fleet, now)

    def _due(self, name: str, state: TimerState, spec: TimerSpec, now: float) -> TimerState | None:
        """The state with a claim or without a time that is skipped; None when nothing is to be done."""
        if state.asked is not None:
            accepted = self._starts.standing(target(spec)).accepted
            return state.but(asked=None, claimed=Firing(due=state.asked, accepted=accepted, by_hand=True))
        if state.paused or state.next is None or state.base is None or now < state.next:
            return None
        due: float | None = state.base
        if spec.misfire == "skip" and now - state.next > GRACE:
            due = next_after(spec, state.anchor, now - GRACE)
            if due is None or due > now:
                self._say(f"timer {name}: skipped a time that passed while no supervisor ran")
                return self._skipped(state, spec, now, "no supervisor ran")
        assert due is not None
        standing = self._starts.standing(target(spec))
        runs = _going_on(state, standing)
        if len(runs) >= spec.max_instances:
            if spec.misfire == "all":
                return None  # each time has its turn, one after the other
            self._say(f"timer {name}: skipped, as {target(spec)} still goes on")
            return self._skipped(state.but(runs=runs), spec, now, "the run that it started goes on")
        after = due if spec.misfire == "all" else now
        firing = Firing(due=due, accepted=standing.accepted)
        return state.but(claimed=firing, runs=runs, **following(spec, state, after, self._draw))

    def _skipped(self, state: TimerState, spec: TimerSpec, now: float, why: str) -> TimerState:
        assert state.base is not None
        last = Last(due=state.base, at=now, result="skipped", why=why)
        return state.but(last=last, **following(spec, state, now, self._draw))

    def _fire(self, entry: Entry, spec: TimerSpec, fleet: Fleet, now: float) -> None:
        state, crawl = entry.state, target(spec)
        assert state is not None
        firing, runs = state.claimed, state.runs
        if firing is None:
            return  # it was skipped
        standing = self._starts.standing(crawl)
        last = Last(due=firing.due, at=now, result="started")
        try:
            if standing.accepted <= firing.accepted:
                self._starts.start(crawl, crawl_of(spec, fleet), declared=spec.crawl is not None)
                standing = self._starts.standing(crawl)
        except UsageError as error:
            last = Last(due=firing.due, at=now, result="failed", why=str(error))
        else:
            if standing.accepted > firing.accepted:
                runs = [*_going_on(state, standing), standing.accepted]
            else:
                last = Last(due=firing.due, at=now, result="skipped", why=f"{crawl} runs already")
        self._say(f"timer {entry.name}: {crawl}: {last.result}{': ' if last.why else ''}{last.why}")
        # If somebody has changed the timer meanwhile, the claim stands, and the next round takes it back.
        entry.swap(state.but(claimed=None, runs=runs, last=last))


def declared(old: TimerState | None, spec: TimerSpec, now: float, draw: Draw = random.uniform) -> TimerState:
    """The timer's state; where it is new or was declared anew, its next time is settled from ``now`` on."""
    if old is not None and old.spec == digest(spec):
        return old
    base = next_after(spec, now, now)
    date = time_of_date(spec)
    if date is not None and date <= now:
        fired = old is not None and old.last is not None and old.last.due == date
        base = None if fired or now - date > _HISTORY else date
    state = TimerState(spec=digest(spec), anchor=now, base=base, next=_jittered(spec, base, draw))
    return state if old is None else old.but(**state.model_dump(include={"spec", "anchor", "base", "next"}))


def following(spec: TimerSpec, state: TimerState, after: float, draw: Draw = random.uniform) -> dict[str, Any]:
    """The fields ``base`` and ``next`` for the first time later than ``after``."""
    base = next_after(spec, state.anchor, after)
    return {"base": base, "next": _jittered(spec, base, draw)}


def _jittered(spec: TimerSpec, base: float | None, draw: Draw) -> float | None:
    return None if base is None else base + (draw(0.0, spec.jitter) if spec.jitter else 0.0)


def target(spec: TimerSpec) -> str:
    """The name of the crawl that the timer starts."""
    name = spec.crawl or spec.spider
    assert name is not None
    return name


def crawl_of(spec: TimerSpec, fleet: Fleet) -> CrawlSpec:
    """How that crawl runs: as it is declared, or as one job of the spider."""
    if spec.crawl is not None:
        return fleet.crawls[spec.crawl]
    return CrawlSpec(spider=target(spec), arguments=spec.arguments, settings=spec.settings)


def _going_on(state: TimerState, standing: Standing) -> list[int]:
    """The timer's runs that have not ended; numbers that were never reached are of a record that is gone."""
    return [
        number
        for number in state.runs
        if number <= standing.accepted and (number > standing.run or (number == standing.run and standing.up))
    ]
