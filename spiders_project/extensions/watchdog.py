"""The watchdog: a crawl that has work and makes no progress says so, with its likely cause (F5)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from spiders_project import statnames as stat
from spiders_project.config import Options
from spiders_project.errors import FrontierError
from spiders_project.frontier.connection import blocking_client
from spiders_project.frontier.stall import StallWatch, Verdict
from spiders_project.keys import Keys
from spiders_project.redis_settings import start_urls_key

if TYPE_CHECKING:
    import redis
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

#: Looks at the crawl in the time that makes a stall, and the longest between two, in seconds.
LOOKS, LONGEST = 4, 15.0


class Watchdog:
    """Looks at the crawl now and then, from a thread, and reports a stall and its end."""

    def __init__(self, crawler: Crawler, options: Options) -> None:
        """Nothing touches the network before the spider has opened."""
        self._crawler = crawler
        self._options = options
        self._patience = options.frontier_stall_seconds  # s
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it.

        Raises:
            NotConfigured: FRONTIER_STALL_SECONDS is 0.
        """
        options = Options.from_settings(crawler.settings)
        if not options.frontier_stall_seconds:
            raise NotConfigured
        return cls(crawler, options)

    def _opened(self, spider: Spider) -> None:
        settings = self._crawler.settings
        namespace = self._options.frontier_namespace or spider.name
        keys = Keys(namespace, getattr(spider, "redis_key", None) or start_urls_key(settings, namespace))
        # A host whose delay is longer makes progress no sooner.
        patience = max(self._patience, 2 * settings.getfloat("DOWNLOAD_DELAY"))
        self._task = asyncio.ensure_future(self._watch(blocking_client(settings), keys, patience))

    async def _closed(self) -> None:
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _watch(self, client: redis.Redis, keys: Keys, patience: float) -> None:
        stall = StallWatch(client, keys, patience)
        while not self._closing.is_set():
            try:
                verdict = await asyncio.to_thread(stall.look)
            except FrontierError as error:
                logger.debug("The watchdog cannot look: %s", error)  # the scheduler stops the worker for it
            else:
                self._report(verdict)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._closing.wait(), min(patience / LOOKS, LONGEST))
        client.close()

    def _report(self, verdict: Verdict | None) -> None:
        extra = {"spider": self._crawler.spider}
        if verdict is None:
            return
        if verdict.causes:
            assert self._crawler.stats is not None
            self._crawler.stats.inc_value(stat.STALLED)
            causes = "; ".join(verdict.causes)
            logger.warning("Work waits, and no progress for %.0f s: %s", verdict.seconds, causes, extra=extra)
        else:
            logger.info("The crawl goes on after %.0f s without progress", verdict.seconds, extra=extra)
