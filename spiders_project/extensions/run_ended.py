"""The hook at the end of a run: one worker tells whoever wants to know."""

from __future__ import annotations

import asyncio
import inspect
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.misc import load_object

from spiders_project import statnames as stat
from spiders_project.config import Options
from spiders_project.errors import ConfigError, FrontierError
from spiders_project.frontier.connection import async_client
from spiders_project.frontier.run_records import EndedRun, Inbox
from spiders_project.frontier.signals import run_ended
from spiders_project.keys import Keys

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

#: A hook that fails is tried so often, each time by whoever looks after a lease has passed.
MOST_TRIES = 5
#: Between two looks of a closing worker, in seconds.
POLL = 0.5


class RunEnded:
    """Sends ``run_ended`` and calls FRONTIER_RUN_ENDED_HOOK for each run that has ended.

    The hook is called with one ``EndedRun``; it may be a coroutine function, and another blocks the worker meanwhile.
    """

    def __init__(self, crawler: Crawler, options: Options) -> None:
        """Nothing touches the network before the spider has opened.

        Raises:
            ConfigError: The hook's path leads nowhere.
        """
        self._crawler = crawler
        self._options = options
        self._hook: Any = None
        if path := options.frontier_run_ended_hook:
            try:
                self._hook = load_object(path)
            except (ImportError, NameError, ValueError) as error:
                raise ConfigError(f"FRONTIER_RUN_ENDED_HOOK is {path!r}: {error}") from error
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it."""
        return cls(crawler, Options.from_settings(crawler.settings))

    def _opened(self, spider: Spider) -> None:
        namespace = self._options.frontier_namespace or spider.name
        self._client = async_client(self._crawler.settings)
        self._inbox = Inbox(self._client, Keys(namespace), self._options.frontier_lease_seconds)
        self._task = asyncio.ensure_future(self._watch())

    async def _closed(self, reason: str) -> None:
        if self._task is None:
            return
        self._closing.set()
        await self._task  # a hook under way is waited for
        if reason == "finished":
            await self._work_off()  # the end that closes this worker
            await self._wait_for_others()
        await self._client.aclose()

    async def _wait_for_others(self) -> None:
        """All workers close at once; if the one at the hook is killed, somebody must be there to take over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._options.frontier_lease_seconds + POLL
        with suppress(FrontierError):
            while loop.time() < until and await self._inbox.has_pending():
                await asyncio.sleep(POLL)
                await self._work_off()

    async def _watch(self) -> None:
        while not self._closing.is_set():
            await self._work_off()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._closing.wait(), self._options.frontier_lease_seconds / 3)

    async def _work_off(self) -> None:
        try:
            while taken := await self._inbox.take():
                await self._tell(*taken)
        except FrontierError as error:
            logger.debug("The ended runs are looked at later: %s", error)  # the scheduler says that Redis is away

    async def _tell(self, record_id: str, run: EndedRun, tries: int) -> None:
        keeper = asyncio.ensure_future(self._keep(record_id))
        try:
            told = await self._call(run)
        finally:
            keeper.cancel()
        if told:
            self._stat(stat.RUNS_ENDED)
        elif tries >= MOST_TRIES:
            logger.critical("The hook for run %s failed %d times and is given up", run.run_id, tries)
        else:
            return  # un-acked: it is tried again
        await self._inbox.done(record_id)

    async def _call(self, run: EndedRun) -> bool:
        """Whether all who were told returned without an error."""
        spider = self._crawler.spider
        logger.info("Run %s of %r has ended: %s", run.run_id, run.namespace, run, extra={"spider": spider})
        answers = await self._crawler.signals.send_catch_log_async(run_ended, run=run, spider=spider)
        failed = any(isinstance(answer, Exception) for _, answer in answers)  # Scrapy has logged it
        if self._hook is not None:
            try:
                answer = self._hook(run)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                failed = True
                logger.exception("FRONTIER_RUN_ENDED_HOOK failed for run %s", run.run_id, extra={"spider": spider})
        return not failed

    async def _keep(self, record_id: str) -> None:
        while True:
            await asyncio.sleep(self._options.frontier_lease_seconds / 3)
            with suppress(FrontierError):
                await self._inbox.keep(record_id)

    def _stat(self, name: str) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(name)
