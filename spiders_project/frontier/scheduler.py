"""The scheduler: where Scrapy's engine meets the shared frontier.

A request's way through this worker: ``Exchange`` claims it in the background, the engine takes it with
``next_request``, a ``Delivery`` follows it (``Tracker``), and when nobody holds it any more its ack goes out behind
the puts that its callback made.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter
from scrapy_redis import scheduler as scrapy_redis_scheduler

from spiders_project import egg
from spiders_project import statnames as stat
from spiders_project.config import Options
from spiders_project.delivery import parents_of
from spiders_project.errors import CodecError, FrontierError
from spiders_project.frontier.connection import async_client, blocking_client
from spiders_project.frontier.contract import Refuse
from spiders_project.frontier.exchange import Exchange
from spiders_project.frontier.gate import Gate
from spiders_project.frontier.heartbeat import Heartbeat
from spiders_project.frontier.local_requests import LocalRequests
from spiders_project.frontier.membership import Membership
from spiders_project.frontier.redis_frontier import RedisFrontier
from spiders_project.frontier.requests import RequestCodec
from spiders_project.frontier.seed_reader import SeedReader
from spiders_project.frontier.terms import limits_of, terms_of
from spiders_project.frontier.tracker import Tracker
from spiders_project.keys import Keys
from spiders_project.redis_settings import start_urls_key, start_urls_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from spiders_project.frontier.contract import Answer, Claim, Put
    from spiders_project.frontier.dupefilter import DupeFilter

logger = logging.getLogger(__name__)

#: Entries of start_urls moved in one step, and the open requests above which a busy worker leaves them there.
SEED_BATCH, SEED_HIGH_WATER = 100, 100_000
#: What CONCURRENT_REQUESTS = 0 (no limit) means for the buffer.
UNLIMITED_REQUESTS = 100


class Scheduler(scrapy_redis_scheduler.Scheduler):  # type: ignore[misc]  # scrapy-redis ships no types
    """scrapy-redis's scheduler over the frontier of this project."""

    def __init__(self, crawler: Crawler) -> None:
        """Read the settings; nothing touches the network before ``open``.

        Raises:
            ConfigError: A setting is wrong.
        """
        super().__init__(server=None, persist=True)
        self.crawler = crawler
        self.stats: Any = crawler.stats
        self.options = Options.from_settings(crawler.settings)
        self.df: DupeFilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        self._parents = parents_of(crawler)
        self._membership: Membership | None = None
        self._ended_at_start: int | None = None
        self._finished = False
        self._warned_of_seeds = False
        self._open = 0
        self._held_back = False
        self._run_id = ""
        self._waits: dict[str, float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        """Build it."""
        return cls(crawler)

    # ------------------------------------------------------------------ opening

    def open(self, spider: Spider) -> Deferred[None]:
        """Join the crawl; waits for Redis where it is away, and touches no network before."""
        self.spider = spider
        settings, options = self.crawler.settings, self.options
        namespace = options.frontier_namespace or spider.name
        seeds_key = getattr(spider, "redis_key", None) or start_urls_key(settings, namespace)
        self._max_idle = settings.getint("MAX_IDLE_TIME_BEFORE_CLOSE")
        terms = terms_of(settings, options, spider, seeds_key=seeds_key, seeds_kind=start_urls_kind(settings))
        keys = Keys(namespace, seeds_key)
        job = os.environ.get("SCRAPY_JOB") or getattr(spider, "_job", "") or ""
        self.worker = f"{options.node_name}:{job or os.getpid()}:{secrets.token_hex(3)}"
        self.stats.set_value(stat.WORKER, self.worker)
        version = getattr(spider, "_version", "") or egg.version()
        self._facts = {"node": options.node_name, "job": job, "version": version}
        self.frontier = RedisFrontier(async_client(settings), keys, self.worker, terms, self._report)
        concurrent = settings.getint("CONCURRENT_REQUESTS") or UNLIMITED_REQUESTS
        self.exchange: Exchange[Request] = Exchange(
            self.frontier,
            self,
            batch_size=options.frontier_batch_size,
            flush_seconds=options.frontier_flush_seconds,
            prefetch=options.frontier_prefetch or concurrent,
            share=max(1, int(concurrent * options.frontier_host_share)),
        )
        self.tracker = Tracker(self.crawler, self.exchange.say)
        self.gate = Gate(
            self.frontier,
            limits_of=partial(limits_of, terms),
            held=lambda host: self.tracker.by_host[host],
            tickets=lambda: self.tracker.tickets,
            say=self.exchange.say,
        )
        self.tracker.watch(self._stopping)
        self.codec = RequestCodec(spider, self.df, options)
        if hasattr(spider, "known_links") and isinstance(self.crawler.request_fingerprinter, RequestFingerprinter):
            # Another fingerprinter may tell requests of one URL apart.
            spider.known_links = self.df.known_urls
        self._local = LocalRequests(self.crawler, self.df, self.codec, self.tracker, self._wake_engine)
        self._seeds = SeedReader(
            self.crawler,
            self.frontier,
            self.codec,
            batch=SEED_BATCH,
            schemes=options.frontier_allowed_schemes,
        )
        heartbeat = Heartbeat(
            blocking_client(settings),
            keys,
            self.worker,
            terms,
            lease_seconds=options.frontier_lease_seconds,
            max_deliveries=options.frontier_max_deliveries,
            report=self._report,
            on_reaped=self._on_reaped,
            job=job,
            on_told_to_end=partial(asyncio.get_running_loop().call_soon_threadsafe, self._told_to_end),
        )
        self.crawler.signals.connect(self._spider_idle, signals.spider_idle)
        self._membership = Membership(self.crawler, self.frontier, self.exchange, heartbeat)
        welcome = f"Worker {self.worker} joins the crawl {namespace!r}; this code is {__file__}"
        return deferred_from_coro(self._membership.join(welcome, self._own_puts))

    def _own_puts(self) -> list[Put]:
        """The spider's ``start_urls``, where its ``start()`` leaves them to us: once for a run, not for a worker."""
        if not hasattr(self.spider, "reads_own_seeds"):
            return []  # none of our bases
        urls = getattr(self.spider, "start_urls", None) or ()
        return [self.codec.put_of(Request(url, dont_filter=True), force=True) for url in urls]

    # ------------------------------------------------------------------ what the engine asks

    def enqueue_request(self, request: Request) -> bool:
        """Queue ``request``; False when its fingerprint is known here as seen. Redis answers for the others later."""
        parent = self._parents.take(request)
        try:
            mark = self.codec.mark_of(request)
            if mark and self.df.known(mark):
                self.df.log(request, self.spider)
                return False
            put = self.codec.put_of(request, mark)
        except CodecError as error:
            return self._local.keep(request, parent, error)
        except Exception as error:
            # A fingerprinter of somebody's own, say. An exception here would end Scrapy's task for this callback.
            logger.exception("%(request)s cannot be queued", {"request": request}, extra={"spider": self.spider})
            self.tracker.cannot_queue(request, parent, error)
            return False
        if mark:
            self.df.remember(mark, request)
        self.stats.inc_value(stat.ENQUEUED)
        self.stats.inc_value(stat.ENQUEUED_REDIS)
        if put.delay_ms:
            self.stats.inc_value(stat.DELAYED)
        self.exchange.say(put, request)
        return True

    def next_request(self) -> Request | None:
        """The next request for the engine, or None while there is none.

        Also None while acks are late. A worker that has more to parse than it can leaves its call to Redis little
        time, and all pages that are done and not acked are fetched again if it is killed.
        """
        if self._local:
            return self._local.next()
        if self.exchange.claimed and self.exchange.is_late:
            self._held_back = True
            return None
        while self.exchange.claimed:
            claim = self.exchange.claimed.popleft()
            self.exchange.hungry()
            try:
                request = self.codec.request_of(claim.payload)
            except CodecError as error:
                self._refuse(claim, error)
                continue
            self.tracker.started(request, claim, self.df.later(request), self._run_id)
            self.stats.inc_value(stat.DEQUEUED)
            self.stats.inc_value(stat.DEQUEUED_REDIS)
            return request
        return None

    async def room(self) -> None:
        """Return when the frontier takes more of what ``start()`` yields."""
        await self.exchange.room()

    def has_pending_requests(self) -> bool:
        """Whether this worker has anything left to do; for the crawl as a whole see ``spider_idle``."""
        return bool(self.exchange.claimed or self._local or self.exchange.unsent or len(self.tracker))

    def __len__(self) -> int:
        """Requests of the whole crawl that are not done, when Redis was last asked."""
        return self._open

    def flush(self) -> None:
        """Refuse: forgetting a crawl is a command of its own.

        Raises:
            FrontierError: Always.
        """
        raise FrontierError("a crawl belongs to all its workers: use `scrapy frontier purge` to forget it")

    def _refuse(self, claim: Claim, error: CodecError) -> None:
        """Set a request aside that this version cannot read (F10); workers of another version may."""
        self.stats.inc_value(stat.UNDECODABLE)
        logger.error(
            "Request %(id)s cannot be read here: %(error)s. It is left to workers of another version, "
            "or kept as a dead letter when there are none",
            {"id": claim.request_id, "error": error},
            extra={"spider": self.spider},
        )
        self.tracker.forgot(claim.request_id)
        letter = json.dumps({"reason": "undecodable", "error": str(error)}).encode()
        self.exchange.say(Refuse(claim.request_id, letter, self._facts["version"]))

    def pause(self, host: str, seconds: float) -> None:
        """Let nobody in the cluster visit ``host`` for ``seconds``."""
        self.gate.pause_all(host, seconds)

    # ------------------------------------------------------------------ the exchange's worker

    def held(self) -> list[str]:
        """See ``exchange.Worker``."""
        return [*self.tracker.held, *self.gate.slot_ids]

    def by_host(self) -> Mapping[str, int]:
        """See ``exchange.Worker``."""
        return self.tracker.by_host

    def local(self) -> int:
        """See ``exchange.Worker``."""
        # What start() has still to yield is work of the crawl, too.
        return self.tracker.local + (self.crawler.engine._start is not None)  # noqa: SLF001 - there is no public way

    def took(self, claim: Claim, asked_at: float) -> None:
        """See ``exchange.Worker``."""
        self.tracker.took(claim, asked_at)

    def forgot(self, claim: Claim) -> None:
        """See ``exchange.Worker``."""
        self.tracker.forgot(claim.request_id)

    def dropped(self, context: Request) -> None:
        """See ``exchange.Worker``."""
        self.df.log(context, self.spider)
        self.crawler.signals.send_catch_log(signals.request_dropped, request=context, spider=self.spider)

    def lost(self) -> None:
        """See ``exchange.Worker``."""
        self.stats.inc_value(stat.TAINTED)
        self.df.forget()
        self.tracker.taint()

    async def read_seeds(self, answer: Answer) -> bool:
        """See ``exchange.Worker``."""
        if answer.seeds < 0:
            self._warn_of_seeds()
        elif self._warned_of_seeds:
            self._warned_of_seeds = False
        if answer.seeds <= 0 or (answer.open > SEED_HIGH_WATER and self.exchange.claimed):
            return False
        await self._seeds.read()
        return True

    def _warn_of_seeds(self) -> None:
        if self._warned_of_seeds:
            return
        self._warned_of_seeds = True
        terms = self.frontier.terms
        logger.error(
            "%(key)s is no %(kind)s, so its seeds are not read, and the crawl does not end. Move its entries into a "
            "%(kind)s, or set REDIS_START_URLS_AS_SET or REDIS_START_URLS_AS_ZSET",
            {"key": terms.seeds_key, "kind": terms.seeds_kind},
            extra={"spider": self.spider},
        )

    def speaks(self) -> None:
        """See ``exchange.Worker``."""
        if self._held_back:
            self._held_back = False
            self._wake_engine()

    def answered(self, answer: Answer, asked_at: float) -> None:
        """See ``exchange.Worker``."""
        self._open = answer.open
        self._run_id = answer.run
        self._waits = self.tracker.waits  # here, since the heartbeat reports from another thread
        self.stats.inc_value(stat.CALLS)
        if answer.claims:
            self.stats.inc_value(stat.CLAIMED, len(answer.claims))
        self.gate.heard({host: ms / 1000 for host, ms in answer.paused.items()}, asked_at)
        if self._ended_at_start is None or answer.open or answer.seeds:
            # An end that came before is not the end of what is open now.
            self._ended_at_start, self._finished = answer.ended, False
        elif self._max_idle and answer.ended > self._ended_at_start:
            self._finished = True
        if answer.claims or self._finished:
            self._wake_engine()

    def _wake_engine(self) -> None:
        # Scrapy looks at an idle scheduler only every 5 s.
        slot = self.crawler.engine._slot  # noqa: SLF001 - there is no public way
        if slot is not None:
            slot.nextcall.schedule()

    def _spider_idle(self) -> None:
        """An idle worker waits while others hold work; the crawl's end is decided for all, in Redis."""
        if not self._finished:
            raise DontCloseSpider

    def _report(self) -> bytes:
        report = {**self._facts, **self._waits, "pid": os.getpid(), "counts": self.tracker.counts}
        report["lease"] = self.options.frontier_lease_seconds
        return json.dumps(report).encode()

    def _on_reaped(self, returned: int, buried: int, workers: int) -> None:
        self.stats.inc_value(stat.RETURNED, returned)
        self.stats.inc_value(stat.DEAD, buried)
        self.stats.inc_value(stat.DEAD_WORKERS, workers)
        logger.warning(
            "%(workers)d worker(s) died: %(returned)d requests are back in the queue, %(buried)d became dead letters",
            {"workers": workers, "returned": returned, "buried": buried},
            extra={"spider": self.spider},
        )

    def _told_to_end(self) -> None:
        if self._membership is not None:
            self._membership.told_to_end()

    # ------------------------------------------------------------------ closing

    def _stopping(self) -> None:
        """The engine starts nothing any more: what it has not started is for other workers."""
        self.gate.close()
        self.exchange.give_back_unstarted()

    def close(self, reason: str) -> Deferred[None]:  # noqa: ARG002 - Scrapy's interface
        """Say what is left to say, give back what was not started; delete nothing."""
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        if self._membership is not None:  # else it was never opened
            await self._membership.leave()
