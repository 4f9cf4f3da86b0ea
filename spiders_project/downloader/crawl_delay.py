"""What robots.txt says of the time between two requests (Crawl-delay) holds for the whole cluster."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)


class CrawlDelayMiddleware:
    """Tells the gate what the robots.txt of a request's site asks for; it stands behind RobotsTxtMiddleware.

    As Retry-After it counts up to RETRY_BACKOFF_MAX_SECONDS, or one line in a text file could stop a crawl for a day.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._most = settings.getfloat("RETRY_BACKOFF_MAX_SECONDS", 300.0)
        self._robots_agent: str | None = settings["ROBOTSTXT_USER_AGENT"]
        self._agent: str = settings["USER_AGENT"]
        self._delays: dict[str, float] = {}  # by network location
        crawler.signals.connect(self._parsed, signals.robots_parsed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CrawlDelayMiddleware:
        """Build it."""
        return cls(crawler)

    def _parsed(self, robotparser: RobotParser, request: Request) -> None:
        agent = self._robots_agent or request.headers.get(b"User-Agent", self._agent)
        asked = robotparser.crawl_delay(agent or "")
        if not asked or asked < 0:
            return
        netloc = urlparse_cached(request).netloc
        delay = self._delays[netloc] = min(asked, self._most)
        logger.info(
            "%(site)s asks for %(asked)s s between two requests (Crawl-delay): %(delay)s s are kept",
            {"site": netloc, "asked": asked, "delay": delay},
            extra={"spider": self._crawler.spider},
        )

    def process_request(self, request: Request) -> None:
        """Slow the request's host down; the host is known to the frontier by its download slot."""
        delay = self._delays.get(urlparse_cached(request).netloc) if self._delays else None
        if delay is None:
            return
        scheduler: Any = self._crawler.engine.scheduler
        if hasattr(scheduler, "gate"):
            scheduler.gate.slow(scheduler.tracker.ticket_of(request).host, delay)
