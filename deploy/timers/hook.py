"""Timers in the supervisor: called each round with its fencing token, over the crawls that it looks after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deploy.timers.state import TimerStore
from deploy.timers.tick import Standing, Timers

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from deploy.fleet import CrawlSpec, Fleet


class Wanted(Protocol):
    """What the record of a crawl says: runs begun, starts that wait, ``idle`` or not."""

    @property
    def run(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def state(self) -> str: ...


class WantedCrawls(Protocol):
    """The records of the crawls that are wanted, as ``deploy start`` writes them."""

    def get(self, name: str, /) -> Wanted | None: ...
    def start(self, name: str, spec: CrawlSpec, /, *, declared: bool = False) -> Any: ...


class CrawlStarts:
    """``tick.Starts`` over those records."""

    def __init__(self, crawls: WantedCrawls) -> None:
        self._crawls = crawls

    def standing(self, name: str) -> Standing:
        """See ``tick.Starts``."""
        held = self._crawls.get(name)
        if held is None:
            return Standing()
        # A start that waits becomes a run: the sum only grows.
        return Standing(accepted=held.run + held.waiting, run=held.run, up=held.state != "idle")

    def start(self, name: str, spec: CrawlSpec, *, declared: bool) -> None:
        """See ``tick.Starts``."""
        self._crawls.start(name, spec, declared=declared)


def timer_hook(
    client: redis.Redis,
    fleet: Callable[[], Fleet],
    crawls: Callable[[str], WantedCrawls],
    say: Callable[[str], None],
) -> Callable[[str], None]:
    """What a supervisor calls each round while it acts, with its fencing token.

    Args:
        client: Of the fleet's Redis, with ``decode_responses`` off.
        fleet: Gives fleet.toml as it is now.
        crawls: Gives the records of the crawls, written under a token.
        say: Progress.
    """

    def tick(token: str) -> None:
        store = TimerStore(client, token)
        Timers(store, CrawlStarts(crawls(token)), say).tick(store.now(), fleet())

    return tick
