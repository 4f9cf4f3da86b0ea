"""``timers``: when they fire, and a hand on them; the supervisor fires them."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from deploy.egg import project_root
from deploy.environment import redis_url
from deploy.errors import DeployError, UsageError
from deploy.fleet import load_fleet
from deploy.output import print_json, print_table, say
from deploy.records import local_time, utc_time
from deploy.seed import redis_client
from deploy.timers.state import TimerStore
from deploy.timers.tick import declared, following, target
from deploy.timers.times import next_after, time_of_date
from deploy.verbs import json_option
from deploy.watch import elapsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deploy.fleet import Fleet, TimerSpec
    from deploy.timers.state import TimerState

_TRIES = 20


@click.group("timers")
def timers_group() -> None:
    """Show the timers of fleet.toml, and pause, resume or fire them. A supervisor fires them (`supervise`).

    \b
    Examples:
      python -m deploy timers list
      python -m deploy timers next nightly
      python -m deploy timers run nightly
    """


@timers_group.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List the timers: what each starts, when it fires next, and what came of the last time.

    \b
    Example:
      python -m deploy timers list --json
    """
    with _opened() as (fleet, store):
        known, now = store.read(), store.now()
    if not fleet.timers:
        say("fleet.toml has no [timers.NAME]")
    found = []
    for name, spec in fleet.timers.items():
        entry = known.get(name)
        found.append((name, spec, declared(entry.state if entry else None, spec, now)))
    if as_json:
        print_json([_as_json(*one) for one in found])
    else:
        columns = ("timer", "starts", "when", "next", "last", "result")
        print_table(columns, [_row(*one) for one in found])


@timers_group.command("next")
@click.argument("name", required=False)
@click.option("-n", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="So many times each.")
@json_option
def next_command(*, name: str | None, count: int, as_json: bool) -> None:
    """Show when the timers fire next, by their declaration: without jitter.

    \b
    Examples:
      python -m deploy timers next
      python -m deploy timers next nightly -n 20
    """
    with _opened() as (fleet, store):
        timers = fleet.timers if name is None else {name: _spec(fleet, name)}
        known, now = store.read(), store.now()
    times = []
    for timer, spec in timers.items():
        entry = known.get(timer)
        state = declared(entry.state if entry else None, spec, now)
        times += [(timer, at) for at in islice(_times(spec, state, now), count)]
    times.sort(key=lambda one: one[1])
    if as_json:
        print_json([{"timer": timer, "at": utc_time(at)} for timer, at in times])
    else:
        print_table(("timer", "fires"), [(timer, local_time(at)) for timer, at in times])


@timers_group.command("run")
@click.argument("name")
def run_command(name: str) -> None:
    """Fire NAME now, also when it is paused; its next time stays.

    \b
    Example:
      python -m deploy timers run nightly
    """
    _change(name, lambda _spec, state, now: state.but(asked=now))
    with _opened() as (_, store):
        acts = store.supervised()
    click.echo(f"{name} fires within seconds" if acts else f"{name} fires as soon as `python -m deploy supervise` runs")


@timers_group.command("pause")
@click.argument("name")
def pause_command(name: str) -> None:
    """Let NAME fire no more until it is resumed.

    \b
    Example:
      python -m deploy timers pause nightly
    """
    _change(name, lambda _spec, state, _now: state.but(paused=True))
    click.echo(f"{name} is paused")


@timers_group.command("resume")
@click.argument("name")
def resume_command(name: str) -> None:
    """Let NAME fire again; times that passed while it was paused are not made up for.

    \b
    Example:
      python -m deploy timers resume nightly
    """

    def resumed(spec: TimerSpec, state: TimerState, now: float) -> TimerState:
        passed = state.next is not None and state.next <= now
        return state.but(paused=False, **(following(spec, state, now) if passed else {}))

    state = _change(name, resumed)
    click.echo(f"{name} fires next {local_time(state.next) or 'never'}")


def _change(name: str, change: Callable[[TimerSpec, TimerState, float], TimerState]) -> TimerState:
    """Replace a timer's state by what ``change`` makes of it, however often somebody else was quicker."""
    with _opened() as (fleet, store):
        spec = _spec(fleet, name)
        for _ in range(_TRIES):
            entry, now = store.entry(name), store.now()
            state = change(spec, declared(entry.state, spec, now), now)
            if entry.swap(state):
                return state
    raise DeployError(f"timer {name} is changed by others all the time; try again")


@contextmanager
def _opened() -> Iterator[tuple[Fleet, TimerStore]]:
    """fleet.toml and the timers' states.

    Raises:
        UsageError: No project, a fault in fleet.toml, or nothing says where Redis is.
        ConnectError: Redis does not answer.
    """
    root = project_root()
    fleet = load_fleet(root)
    client = redis_client(redis_url(root))
    try:
        yield fleet, TimerStore(client)
    finally:
        client.close()


def _spec(fleet: Fleet, name: str) -> TimerSpec:
    if name not in fleet.timers:
        raise UsageError(f"fleet.toml has no timer {name!r}: it has {', '.join(fleet.timers) or 'none'}")
    return fleet.timers[name]


def _times(spec: TimerSpec, state: TimerState, now: float) -> Iterator[float]:
    moment: float | None = state.base
    if moment is not None and moment <= now:
        yield moment  # due, or missed
        moment = now
    elif moment is not None:
        yield moment
    while moment is not None:
        moment = next_after(spec, state.anchor, moment)
        if moment is not None:
            yield moment


def _when(spec: TimerSpec) -> str:
    jitter = f", up to {spec.jitter:g} s later" if spec.jitter else ""
    if spec.cron:
        return f"{spec.cron} ({spec.timezone}){jitter}"
    return (f"every {elapsed(spec.interval)}" if spec.interval else f"once, {local_time(time_of_date(spec))}") + jitter


def _row(name: str, spec: TimerSpec, state: TimerState) -> tuple[object, ...]:
    last = state.last
    coming = "paused" if state.paused else "now" if state.claimed or state.asked else local_time(state.next) or "never"
    result = f"{last.result}{': ' if last.why else ''}{last.why}" if last else None
    return name, target(spec), _when(spec), coming, local_time(last.at) if last else None, result


def _as_json(name: str, spec: TimerSpec, state: TimerState) -> dict[str, Any]:
    last = state.last
    return {
        "name": name,
        "starts": target(spec),
        "when": _when(spec),
        "paused": state.paused,
        "next": None if state.paused else utc_time(state.next),
        "last": last and {"due": utc_time(last.due), "at": utc_time(last.at), "result": last.result, "why": last.why},
    }
