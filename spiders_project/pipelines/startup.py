"""Waiting while a crawl starts, so that it can still be stopped.

Scrapy stops a crawl by its engine, and while components open the engine does not run yet: on SIGTERM the
reactor would stop under the waiting component, and nothing would be closed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import CloseSpider
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import is_reactor_installed

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

#: Seconds between two looks whether the crawl is closed.
POLL_SECONDS = 0.02


async def interruptible(crawler: Crawler, opening: Coroutine[Any, Any, None]) -> None:
    """Await ``opening``; a shutdown of the process meanwhile ends it, and waits until the crawl has closed.

    Raises:
        CloseSpider: The process is being shut down; the finish reason is ``shutdown``.
    """
    if not is_reactor_installed():
        await opening
        return
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

    events: Any = reactor  # its interface declares these methods without self
    task = asyncio.ensure_future(opening)

    def interrupt() -> Deferred[None] | None:
        return deferred_from_coro(_closed(crawler)) if task.cancel() else None

    trigger = events.addSystemEventTrigger("before", "shutdown", interrupt)
    try:
        await task
    except asyncio.CancelledError:
        raise CloseSpider("shutdown") from None
    finally:
        if not task.cancelled():
            events.removeSystemEventTrigger(trigger)


async def _closed(crawler: Crawler) -> None:
    while crawler.engine.spider is not None:  # noqa: ASYNC110 - set last, after all signals and statistics
        await asyncio.sleep(POLL_SECONDS)
