"""Is a crawl that has work stuck? Looks from time to time, and says so once it has made no progress for long."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spiders_project.errors import FrontierUnavailable
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.progress import blockers

if TYPE_CHECKING:
    import redis

    from spiders_project.keys import Keys

#: A stall that goes on is told of again after so many times the patience.
REPEAT = 10


@dataclass(frozen=True)
class Verdict:
    """What there is to report: a stall with its likely causes, or (no causes) that the crawl goes on."""

    seconds: float
    causes: tuple[str, ...] = ()


class StallWatch:
    """Remembers when the crawl made its last progress: requests done, or thrown away at the page limit."""

    def __init__(self, client: redis.Redis, keys: Keys, patience: float) -> None:
        """``client`` is a blocking one; ``patience`` is how long (s) a crawl with work may make no progress."""
        self._client = client
        self._keys = keys
        self._patience = patience
        self._mark: tuple[object, ...] = ()
        self._since = time.monotonic()
        self._told_at: float | None = None

    def look(self) -> Verdict | None:
        """Look once; blocks. None while there is nothing new to report.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        now = time.monotonic()
        try:
            status = crawl_status(self._client, self._keys.namespace, self._keys.start_urls_key)
            mark = (status.run_id, status.done)
            if mark != self._mark or not (status.open or status.seeds):
                self._mark = mark
                return self._goes_on(now)
            if not self._is_due(now):
                return None
            found = blockers(self._client, self._keys, status, self._patience)
            causes = [blocker.text for blocker in found] or [_numbers(status.queued, status.delayed, status.leased)]
        except FrontierUnavailable as error:
            if not self._is_due(now):
                return None
            causes = [str(error)]
        self._told_at = now
        return Verdict(now - self._since, tuple(causes))

    def _is_due(self, now: float) -> bool:
        last = self._told_at
        return now - self._since >= self._patience and (last is None or now - last >= REPEAT * self._patience)

    def _goes_on(self, now: float) -> Verdict | None:
        lasted, was_told = now - self._since, self._told_at is not None
        self._since, self._told_at = now, None
        return Verdict(lasted) if was_told else None


def _numbers(queued: int, delayed: int, leased: int) -> str:
    return f"unknown: {queued:,} requests are queued, {delayed:,} delayed and {leased:,} in the hands of workers"
