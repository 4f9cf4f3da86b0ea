"""Requests that cannot be written to Redis (F6): they live, wait and are retried in this worker alone."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from spiders_project import statnames as stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from spiders_project.delivery import Delivery
    from spiders_project.errors import CodecError
    from spiders_project.frontier.dupefilter import DupeFilter
    from spiders_project.frontier.requests import RequestCodec
    from spiders_project.frontier.tracker import Tracker

logger = logging.getLogger(__name__)


class LocalRequests:
    """The queue of this worker's own requests. Whoever yielded one is not done before it is."""

    def __init__(
        self,
        crawler: Crawler,
        dupefilter: DupeFilter,
        codec: RequestCodec,
        tracker: Tracker,
        wake_engine: Callable[[], None],
    ) -> None:
        """``wake_engine`` is called when a request's time has come."""
        self._crawler: Any = crawler
        self._dupefilter = dupefilter
        self._codec = codec
        self._tracker = tracker
        self._wake_engine = wake_engine
        self._due: deque[Request] = deque()

    def __len__(self) -> int:
        """Those whose time has come."""
        return len(self._due)

    def next(self) -> Request:
        """The next one.

        Raises:
            IndexError: There is none.
        """
        return self._due.popleft()

    def keep(self, request: Request, parent: Delivery | None, error: CodecError) -> bool:
        """Keep ``request``, which ``parent`` yielded; ``error`` names what cannot be written. False for a known one."""
        if not request.dont_filter:
            mark = self._dupefilter.mark_of(request)
            if self._dupefilter.known(mark):
                self._dupefilter.log(request, self._crawler.spider)
                return False
            self._dupefilter.remember(mark)
        self._crawler.stats.inc_value(stat.KEPT_LOCAL)
        logger.warning(
            "%(request)s stays in this worker, and so does the page that yielded it until it is done: %(error)s",
            {"request": request, "error": error},
            extra={"spider": self._crawler.spider},
        )
        self._wait(self._tracker.keep_local(request, parent))
        return True

    def _wait(self, request: Request) -> None:
        """A retry backs off here, too."""
        wait = self._codec.wait_of(request)
        if not wait:
            self._due.append(request)
            return
        self._crawler.stats.inc_value(stat.DELAYED)

        def due() -> None:
            self._due.append(request)
            self._wake_engine()

        asyncio.get_running_loop().call_later(wait, due)
