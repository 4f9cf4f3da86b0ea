"""A worker's stay in a crawl: it joins, exchanges, and leaves; each waits for Redis where that is away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import CloseSpider

from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from spiders_project.frontier.contract import Frontier, Put
    from spiders_project.frontier.exchange import Exchange
    from spiders_project.frontier.heartbeat import Heartbeat

logger = logging.getLogger(__name__)

#: Finish reasons of a worker that Redis refused, and of one that met a fault of ours; `scrapy crawl` exits with 1.
FRONTIER_ERROR, FRONTIER_FAILURE = "frontier_error", "frontier_failure"
#: Seconds that a stopping worker waits for Redis. What stays unsaid is lost on nobody: the requests return.
CLOSE_PATIENCE = 10.0


class Membership:
    """From the scheduler's ``open`` to its ``close``."""

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        exchange: Exchange[Any],
        heartbeat: Heartbeat,
    ) -> None:
        self._crawler: Any = crawler
        self._frontier = frontier
        self._exchange = exchange
        self._heartbeat = heartbeat
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def join(self, welcome: str, own_puts: Callable[[], Sequence[Put]]) -> None:
        """Join the crawl, with its own puts unless another worker has put them; ``welcome`` is for the log.

        Where Redis refuses (password, ACL, a key of the wrong type) the spider is closed as soon as it is open.
        """
        try:
            await patiently(self._frontier.ping, give_up=self._is_stopped)
            self._heartbeat.start()
            logger.info(welcome, extra={"spider": self._crawler.spider})
            puts = own_puts()
            if puts:
                await patiently(lambda: self._frontier.start(puts), give_up=self._is_stopped)
        except FrontierUnavailable:
            self._end_at_once("shutdown")  # we were told to stop before Redis came
        except FrontierError as error:
            self._refused(error)
            self._end_at_once(FRONTIER_ERROR)
        else:
            self._task = asyncio.ensure_future(self._run())

    def told_to_end(self) -> None:
        """Stop as at a signal: the fleet's supervisor says so."""
        logger.info("Told to end by the fleet's supervisor", extra={"spider": self._crawler.spider})
        self._ending = asyncio.ensure_future(self._crawler.stop_async())

    async def leave(self) -> None:
        """Say what is left to say, give back what was not started; delete nothing."""
        self._exchange.close()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        try:
            if self._task is not None:
                await asyncio.wait_for(self._exchange.flush(), CLOSE_PATIENCE)
            await asyncio.to_thread(self._heartbeat.stop, 1.0)
            if self._task is not None:
                await asyncio.wait_for(self._frontier.leave(), CLOSE_PATIENCE)
        except (asyncio.TimeoutError, FrontierError) as error:
            logger.warning(
                "Closing without a last word to Redis (%(error)s): %(unsent)d things stay unsaid, and its requests "
                "go to other workers when its lease has run out",
                {"error": error or "no answer", "unsent": self._exchange.unsent},
                extra={"spider": self._crawler.spider},
            )
        finally:
            await asyncio.to_thread(self._heartbeat.stop, 1.0)
            await self._frontier.close()

    async def _run(self) -> None:
        try:
            await self._exchange.run()
        except FrontierError as error:
            self._refused(error)
            self._end(FRONTIER_ERROR)
        except Exception:
            logger.critical(
                "The frontier's loop failed; the worker stops.", exc_info=True, extra={"spider": self._crawler.spider}
            )
            self._end(FRONTIER_FAILURE)

    def _refused(self, error: FrontierError) -> None:
        logger.critical("%s The worker stops.", error, extra={"spider": self._crawler.spider})

    def _is_stopped(self) -> bool:
        return not self._crawler.crawling

    def _end(self, reason: str) -> None:
        # In a task of its own, since closing waits for the loop that failed.
        if self._crawler.engine.running:
            self._ending = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason=reason))
        else:
            self._end_at_once(reason)

    def _end_at_once(self, reason: str) -> None:
        """Close the spider as soon as it is open: the engine cannot close it before, and has a way for that."""

        def close() -> None:
            raise CloseSpider(reason)

        self._crawler.signals.connect(close, signals.spider_opened, weak=False)
