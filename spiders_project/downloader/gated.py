"""Scrapy's downloader with the frontier's gate before each download."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Downloader, Slot
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from twisted.internet.defer import inlineCallbacks

from spiders_project import statnames as stat
from spiders_project.errors import FrontierError
from spiders_project.frontier.requests import DOWNLOAD_SLOT, AssignedSlot, hostname
from spiders_project.frontier.ticket import NotNow

if TYPE_CHECKING:
    from collections.abc import Generator

    from scrapy import Request
    from twisted.internet.defer import Deferred

    from spiders_project.frontier.gate import Gate

logger = logging.getLogger(__name__)

#: Downloads of one host at once in one process; the limit is the gate's, for the cluster.
UNLIMITED = 1_000_000


class ThrottledSlot(Slot):
    """A slot whose delay AutoThrottle adjusts; the gate holds it, and tells the other workers of it."""

    def __init__(self, host: str, gate: Gate, delay: float) -> None:
        self._host = host
        self._gate = gate
        self._first = True
        super().__init__(UNLIMITED, delay, 0.0)

    @property
    def delay(self) -> float:
        """Seconds between two starts."""
        return self._delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._delay = seconds
        self._gate.slow(self._host, seconds, first=self._first)
        self._first = False

    def download_delay(self) -> float:
        """Nothing: the gate stands before it."""
        return 0.0


class GatedDownloader(Downloader):
    """Holds each download until its host may be visited, as all workers together see it.

    Behind the middlewares, so that robots.txt, media pipelines and ``download_async`` pass it too (F26). Delay and
    concurrency of Scrapy's own slots are off: they count one process only, and do not even hold there (F19).
    """

    def _scheduler(self) -> Any:
        """The frontier's scheduler; None under another one."""
        scheduler = self.crawler.engine.scheduler
        return scheduler if hasattr(scheduler, "gate") else None

    def _get_slot(self, request: Request, spider: Any = None) -> tuple[str, Slot]:  # noqa: ARG002 - Scrapy's interface
        key = self.get_slot_key(request)
        scheduler = self._scheduler()
        if key not in self.slots and scheduler is not None:
            self.slots[key] = self._slot_for(key, scheduler.gate)
            self._start_slot_gc()
        return super()._get_slot(request)

    def get_slot_key(self, request: Request) -> str:
        """Scrapy's; the host's name, which is no choice of the spider's author, stays out of the frontier (F25)."""
        if type(request.meta.get(DOWNLOAD_SLOT)) is AssignedSlot:
            return AssignedSlot(hostname(request))  # maybe of another request, whose meta was copied
        key = super().get_slot_key(request)
        return key if DOWNLOAD_SLOT in request.meta else AssignedSlot(key)

    def _slot_for(self, host: str, gate: Gate) -> Slot:
        if not self.settings.getbool("AUTOTHROTTLE_ENABLED"):
            return Slot(UNLIMITED, 0.0, 0.0)
        delay = self.per_slot_settings.get(host, {}).get("delay", self._delay)
        return ThrottledSlot(host, gate, float(delay))

    @inlineCallbacks
    def fetch(self, request: Request, spider: Any = None) -> Generator[Deferred[Any], Any, Response | Request]:  # noqa: ARG002 - Scrapy's interface
        """Scrapy's, and a download that failed for good is told to the frontier.

        Here and not in a middleware, because no middleware hears of what another one raises over a response: a
        broken gzip stream, a redirect to no URL.
        """
        try:
            response: Response | Request = yield super().fetch(request)
        except IgnoreRequest as error:
            if "redirections" in str(error):
                self._redirected_too_often(request)
            raise
        except Exception as error:
            scheduler = self._scheduler()
            if scheduler is not None:
                scheduler.tracker.gave_up(request, "download", f"{type(error).__name__}: {error}")
            raise
        scheduler = self._scheduler()
        if scheduler is not None and isinstance(response, Response):
            scheduler.tracker.answered(request, response)
        return response

    def _redirected_too_often(self, request: Request) -> None:
        """Scrapy says so at DEBUG only, and counts it nowhere."""
        self.crawler.stats.inc_value(stat.REDIRECT_LOOPS)
        first = (request.meta.get("redirect_urls") or [request.url])[0]
        logger.info(
            "Ignoring %(request)s: redirected too often, from %(first)s on",
            {"request": request, "first": first},
            extra={"spider": self.crawler.spider},
        )

    async def _download(self, slot: Slot, request: Request) -> Response:
        """Scrapy's, behind the gate; nothing stands between it and the socket."""
        scheduler = self._scheduler()
        if scheduler is None:
            return await super()._download(slot, request)
        ticket = scheduler.tracker.ticket_of(request)
        try:
            await scheduler.gate.enter(ticket)
        except (NotNow, FrontierError):
            # Its host is not to be visited for a while, or this worker stops: it is for another time, or worker.
            scheduler.tracker.not_started(request)
            raise IgnoreRequest("the request was not started, and goes back to the frontier") from None
        try:
            return await super()._download(slot, request)
        finally:
            # Called and not signalled: for each page a receiver costs more than what it does.
            scheduler.tracker.left_downloader(request)
            scheduler.gate.leave(ticket)
