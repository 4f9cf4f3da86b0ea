"""A host that says "too much" is left alone by the whole cluster: 429, 503, Retry-After."""

from __future__ import annotations

import logging
import time
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy import signals

from spiders_project import statnames as stat

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

STATUSES = (429, 503)


class Backoff:
    """Pauses a host in the frontier for as long as its Retry-After asks, or for a time that doubles.

    The retry itself is Scrapy's RetryMiddleware's. A middleware would come too late: a download's slot is free as soon
    as it has ended, and the next claim of the host would be quicker than the pause.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._first = settings.getfloat("RETRY_BACKOFF_SECONDS", 1.0)
        self._most = settings.getfloat("RETRY_BACKOFF_MAX_SECONDS", 300.0)
        self._in_a_row: dict[str, int] = {}
        crawler.signals.connect(self._downloaded, signals.response_downloaded)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Backoff:
        """Build it."""
        return cls(crawler)

    def _downloaded(self, response: Response, request: Request) -> None:
        scheduler = self._crawler.engine.scheduler
        tracker = getattr(scheduler, "tracker", None)
        if tracker is None or (response.status not in STATUSES and not self._in_a_row):
            return
        host = tracker.ticket_of(request).host
        if response.status not in STATUSES:
            self._in_a_row.pop(host, None)
            return
        times = self._in_a_row[host] = self._in_a_row.get(host, 0) + 1
        seconds = retry_after(response)
        if seconds is None:
            seconds = self._first * 2 ** min(times - 1, 30)
        seconds = min(seconds, self._most)
        scheduler.pause(host, seconds)  # type: ignore[union-attr] # ours: it has a tracker
        self._crawler.stats.inc_value(stat.HOST_PAUSED)
        logger.info(
            "%(host)s answers %(status)d: nobody visits it for %(seconds).1f s",
            {"host": host, "status": response.status, "seconds": seconds},
            extra={"spider": self._crawler.spider},
        )


def retry_after(response: Response) -> float | None:
    """The seconds that Retry-After asks for (a number or a date, RFC 9110 10.2.3); None where it says nothing."""
    header = response.headers.get("Retry-After")
    if header is None:
        return None
    text = header.decode("latin-1").strip()
    if text.isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, when.timestamp() - time.time())
