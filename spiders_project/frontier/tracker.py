"""Follows each claimed request through this worker, from the engine's hands to its ack."""

from __future__ import annotations

import json
import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.python import global_object_name

from spiders_project import statnames as stat
from spiders_project.delivery import Delivery, deliveries_of
from spiders_project.errors import ConfigError
from spiders_project.frontier.contract import Ack, Bury, Left
from spiders_project.frontier.requests import assign_slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from spiders_project.frontier.contract import Claim, Operation

logger = logging.getLogger(__name__)


class Tracker:
    """Says to the frontier what becomes of claimed requests.

    No signal of Scrapy says that the engine is through with a request (callback ended, outputs processed); its slot
    does, so ``watch`` puts itself before the slot's ``remove_request``.
    """

    def __init__(self, crawler: Crawler, say: Callable[[Operation], None], share: int) -> None:
        """``say`` sends an operation; ``share`` is how many downloads of one host are this worker's share."""
        self._crawler = crawler
        self._stats = crawler.stats
        self._say = say
        self._share = share
        self._deliveries = deliveries_of(crawler)
        self._hosts: dict[str, str] = {}  # request id → host, until its download has ended
        self._by_host: Counter[str] = Counter()
        self._locals: set[Request] = set()
        self.counts = {"acked": 0, "pages": 0, "items": 0, "errors": 0}

    def watch(self) -> None:
        """Hook the engine's slot and connect the signals; to be called from the scheduler's ``open``.

        Raises:
            ConfigError: This version of Scrapy has no such slot.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        remove_request = getattr(slot, "remove_request", None)
        if not callable(remove_request):
            raise ConfigError(
                f"Scrapy's engine has no {global_object_name(type(slot))}.remove_request any more, by which the "
                "frontier learns that a request is done: install the Scrapy version that requirements.txt names"
            )

        def removed(request: Request) -> None:
            remove_request(request)
            self._done(request)

        slot.remove_request = removed  # type: ignore[union-attr] # checked above
        connect = self._crawler.signals.connect
        connect(self._reached_downloader, signals.request_reached_downloader)
        connect(self._left_downloader, signals.request_left_downloader)
        connect(self._spider_error, signals.spider_error)
        connect(self._item_error, signals.item_error)
        connect(self._item_scraped, signals.item_scraped)

    # ------------------------------------------------------------------ the worker's hands

    def __len__(self) -> int:
        return len(self._deliveries)

    @property
    def full_hosts(self) -> list[str]:
        """Hosts that have their share of this worker's slots."""
        return [host for host, count in self._by_host.items() if count >= self._share]

    def took(self, claim: Claim) -> None:
        """A claim came into the worker's buffer."""
        self._hosts[claim.request_id] = claim.host
        self._by_host[claim.host] += 1

    def started(self, request: Request, claim: Claim, fingerprint: bytes) -> None:
        """The engine gets ``request`` now."""
        self._deliveries[request] = Delivery(claim.request_id, fingerprint, partial(self._settled, request))

    def started_local(self, request: Request) -> None:
        """The engine gets a request that lives in this worker only."""
        self._locals.add(request)

    @property
    def local(self) -> int:
        """Requests under way that live in this worker only."""
        return len(self._locals)

    def bury(self, request_id: str, reason: str, error: str) -> None:
        """A claimed request cannot even be started: set it aside, go on."""
        self._free(request_id)
        self._stats.inc_value(stat.DEAD)
        self.counts["errors"] += 1
        self._say(Bury(request_id, json.dumps({"reason": reason, "error": error}).encode()))

    # ------------------------------------------------------------------ what Scrapy says

    def _reached_downloader(self, request: Request) -> None:
        assign_slot(request)

    def _left_downloader(self, request: Request) -> None:
        delivery = self._deliveries.get(request)
        if delivery is not None and self._free(delivery.request_id):
            self._say(Left(delivery.request_id))

    def _spider_error(self, failure: Failure, response: Response | Failure) -> None:
        self._failed(response, "callback", failure)

    def _item_error(self, response: Response | Failure | None, failure: Failure) -> None:
        self._failed(response, "item", failure)

    def _failed(self, response: Any, reason: str, failure: Failure) -> None:
        self.counts["errors"] += 1
        delivery = self._deliveries.get(getattr(response, "request", None))
        if delivery is not None:
            delivery.fail(f"{reason}: {failure.type.__name__ if failure.type else '?'}: {failure.getErrorMessage()}")

    def _item_scraped(self) -> None:
        self.counts["items"] += 1

    def _done(self, request: Request) -> None:
        delivery = self._deliveries.get(request)
        if delivery is not None:
            self._free(delivery.request_id)
            delivery.release()
        else:
            self._locals.discard(request)

    def _free(self, request_id: str) -> bool:
        host = self._hosts.pop(request_id, None)
        if host is None:
            return False
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        return True

    def _settled(self, request: Request, delivery: Delivery) -> None:
        del self._deliveries[request]
        if delivery.error is None:
            pages = 1 if delivery.items else 0
            self.counts["acked"] += 1
            self.counts["pages"] += pages
            self._stats.inc_value(stat.ACKED)
            self._say(Ack(delivery.request_id, pages))
            return
        reason, _, error = delivery.error.partition(": ")
        self._stats.inc_value(stat.DEAD)
        logger.error(
            "Gave up %(request)s (%(reason)s): %(error)s. It is kept as a dead letter.",
            {"request": request, "reason": reason, "error": error},
            extra={"spider": self._crawler.spider},
        )
        letter = {"reason": reason, "error": error[:2000], "url": request.url}
        self._say(Bury(delivery.request_id, json.dumps(letter).encode()))
