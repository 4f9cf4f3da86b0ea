"""Each job writes a record of its own: Scrapyd calls a job that crashed "finished", and forgets it when it restarts."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from spiders_project import statnames as stat
from spiders_project.config import Options
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.connection import blocking_client
from spiders_project.frontier.heartbeat import BEATS_PER_LEASE
from spiders_project.jobs import store
from spiders_project.jobs.last_error import LastError, fit_to_keep, secrets_of
from spiders_project.jobs.machine import load_average, resident_memory
from spiders_project.jobs.record import RUNNING, age_of_process, facts_of, job_id, state_of, this_process

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

#: How long a closing job tries to write its last word, in seconds; whoever supervises it completes the record.
PATIENCE = 5.0
#: Between two tries of the last word, in seconds.
_PAUSE = 0.2


class JobRecord:
    """Writes ``fleet:job:<job id>`` from a thread of its own, as often as the frontier's heartbeat goes out.

    One call each FRONTIER_LEASE_SECONDS / 6, whatever the number of pages. With Redis away it waits and goes on.
    """

    def __init__(self, crawler: Crawler, options: Options, job: str) -> None:
        """Nothing touches the network before the crawl has started.

        Args:
            crawler: The crawler.
            options: This project's options.
            job: The job's id.
        """
        self._crawler = crawler
        self._options = options
        self._job = job
        self._errors = LastError.installed()
        self._secrets = secrets_of(crawler.settings)
        self._client: Any = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="job-record", daemon=True)
        spider = crawler.spider
        self._facts = facts_of(spider.name if spider else "", getattr(spider, "_version", ""), options)
        self._refused = False
        self._opened = False
        crawler.signals.connect(self._open, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        self._thread.start()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it.

        Raises:
            NotConfigured: This is no job (a plain ``scrapy crawl``), or JOB_RECORDS_MAX is 0.
        """
        options = Options.from_settings(crawler.settings)
        job = job_id(getattr(crawler.spider, "_job", ""))
        if not job or not options.job_records_max:
            raise NotConfigured
        return cls(crawler, options, job)

    def _loop(self) -> None:
        known = False
        while not self._stopped.is_set():
            try:
                self._write(RUNNING)
                if not known:
                    store.trim(self._client, self._options.job_records_seconds, self._options.job_records_max)
                known, self._refused = True, False
            except FrontierUnavailable as error:
                logger.debug("The job's record waits: %s", error)  # the scheduler says that Redis is away
            except FrontierError as error:
                self._complain(error)
            except Exception as error:  # noqa: BLE001 - the thread must outlive any surprise
                self._complain(error)
            self._stopped.wait(self._options.frontier_lease_seconds / BEATS_PER_LEASE)

    def _complain(self, error: Exception) -> None:
        logger.log(logging.DEBUG if self._refused else logging.WARNING, "No record of this job: %s", error)
        self._refused = True

    def _write(self, state: str, **more: str) -> None:
        if self._client is None:
            self._client = blocking_client(self._crawler.settings)
        error = fit_to_keep(self._errors.text, self._secrets) if self._errors.text else None
        facts = {
            **self._facts,
            "worker": self._stat(stat.WORKER, ""),
            "stats": self._counts(),
            "load": load_average(),
            "memory": resident_memory(),
            "error": error,
            **more,
        }
        store.write(
            self._client,
            self._job,
            state,
            facts,
            process=this_process(),
            age=age_of_process(),
            clock=time.time(),
            keep_seconds=self._options.job_records_seconds,
        )

    def _stat(self, name: str, default: Any = 0) -> Any:
        assert self._crawler.stats is not None
        return self._crawler.stats.get_value(name, default)

    def _counts(self) -> dict[str, int]:
        on_frontier = self._stat(stat.WORKER, "")
        return {
            # A spider on a scheduler of Scrapy's acks nothing; there, a page is a response.
            "pages": self._stat(stat.PAGES if on_frontier else "response_received_count"),
            "items": self._stat("item_scraped_count"),
            "errors": self._stat("spider_exceptions/count") + self._stat(stat.ITEM_ERRORS),
            "dead": self._stat(stat.DEAD),
            "retries": self._stat("retry/count"),
        }

    def _open(self) -> None:
        self._opened = True

    async def _closed(self, reason: str) -> None:
        self._stopped.set()
        if not self._opened:
            return  # it could not be opened; the command around us knows why (``jobs.last_word``)
        await asyncio.to_thread(self._last_word, state_of(reason), reason)

    def _last_word(self, state: str, reason: str) -> None:
        until = time.monotonic() + PATIENCE
        self._thread.join(PATIENCE)
        while True:
            try:
                self._write(state, reason=reason)
            except FrontierUnavailable as error:
                if time.monotonic() < until:
                    time.sleep(_PAUSE)
                    continue
                logger.warning("The job's record lacks its end: %s", error)
            except FrontierError as error:
                self._complain(error)
            break
        if self._client is not None:
            self._client.close()
