"""Follows each claimed request through this worker, from its claim to its ack."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.python import global_object_name

from spiders_project import statnames as stat
from spiders_project.delivery import Delivery, deliveries_of
from spiders_project.errors import ConfigError
from spiders_project.frontier.contract import Ack, Bury, GiveBack, Left
from spiders_project.frontier.origins import Errback
from spiders_project.frontier.requests import PARENT, host_of
from spiders_project.frontier.ticket import Ticket
from spiders_project.secrets import mask, mask_of_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from spiders_project.frontier.contract import Claim, Operation

logger = logging.getLogger(__name__)

#: Characters of an error that a dead letter keeps.
MOST_ERROR = 2000


class Tracker:
    """Says to the frontier what becomes of claimed requests.

    No signal of Scrapy says that the engine is through with a request (callback ended, outputs processed); its slot
    does, so ``watch`` puts itself before the slot's ``remove_request``.
    """

    def __init__(self, crawler: Crawler, say: Callable[[Operation], None]) -> None:
        """``say`` sends an operation to the frontier."""
        self._crawler = crawler
        self._stats = crawler.stats
        self._say = say
        self._deliveries = deliveries_of(crawler)
        self._tickets: dict[str, Ticket] = {}  # by request id, until its download has ended
        self._locals: dict[Request, Delivery | None] = {}  # with the delivery that waits for them
        self._storing: set[str] = set()  # ids of deliveries that the engine is through with
        self._goes_back: set[Delivery] = set()  # when they settle
        self.by_host: Counter[str] = Counter()
        self._counts = {"acked": 0, "pages": 0, "errors": 0}

    def watch(self, stopping: Callable[[], None]) -> None:
        """Hook the engine's slot and connect the signals; to be called from the scheduler's ``open``.

        Args:
            stopping: Called when the engine begins to close its slot: nothing new is started from then on.

        Raises:
            ConfigError: This version of Scrapy has no such slot.
        """
        slot: Any = getattr(self._crawler.engine, "_slot", None)
        remove_request, close = (getattr(slot, name, None) for name in ("remove_request", "close"))
        if not callable(remove_request) or not callable(close):
            raise ConfigError(
                f"Scrapy's engine has no {global_object_name(type(slot))}.remove_request and close any more, by which "
                "the frontier learns that a request is done: install the Scrapy version that requirements.txt names"
            )

        def removed(request: Request) -> None:
            remove_request(request)
            self._done(request)

        def closing() -> Any:
            stopping()
            return close()

        slot.remove_request = removed
        slot.close = closing
        connect = self._crawler.signals.connect
        connect(self._spider_error, signals.spider_error)
        connect(self._item_error, signals.item_error)

    # ------------------------------------------------------------------ what is in hands

    def __len__(self) -> int:
        return len(self._deliveries)

    @property
    def held(self) -> list[str]:
        """Ids of the requests under way."""
        return [delivery.request_id for delivery in self._deliveries.values()]

    @property
    def local(self) -> int:
        """Requests that live in this worker only, waiting or under way."""
        return len(self._locals)

    @property
    def counts(self) -> dict[str, int]:
        """What this worker has done: acked, pages, items, errors."""
        return {**self._counts, "items": self._stats.get_value("item_scraped_count", 0)}

    @property
    def waits(self) -> dict[str, float]:
        """For tools: crawled requests that wait for their items to be stored, and the oldest request's age (s)."""
        oldest = next(iter(self._deliveries.values()), None)
        held_for = time.monotonic() - oldest.since if oldest is not None else 0.0
        return {"storing": len(self._storing), "held_for": round(held_for, 1)}

    def took(self, claim: Claim, asked_at: float) -> None:
        """A claim came into the worker's buffer."""
        self._tickets[claim.request_id] = Ticket(claim.host, asked_at, claim.booking)
        self.by_host[claim.host] += 1

    def forgot(self, request_id: str) -> bool:
        """A claim left the buffer, or its download has ended; False when that was known."""
        ticket = self._tickets.pop(request_id, None)
        if ticket is None:
            return False
        self.by_host[ticket.host] -= 1
        if not self.by_host[ticket.host]:
            del self.by_host[ticket.host]
        return True

    def started(self, request: Request, claim: Claim, fingerprint_of: Callable[[], bytes], run: str) -> None:
        """The engine gets ``request`` now, in the run of that id."""
        delivery = Delivery(claim.request_id, fingerprint_of, partial(self._settled, request), run=run, url=request.url)
        self._deliveries[request] = delivery
        if request.errback is not None:
            request.errback = Errback(request.errback, delivery, self._crawler)

    def keep_local(self, request: Request, parent: Delivery | None) -> Request:
        """``request`` lives in this worker only; ``parent``, which yielded it, is not done before it is.

        What it yields and how it fails counts for the one that waits. Returns the request to hand to the engine.
        """
        parent = parent or request.meta.get(PARENT)
        if request in self._locals:
            request = request.copy()  # one object, yielded twice
        if parent is not None:
            parent.hold()
            request.meta[PARENT] = parent
            self._deliveries[request] = parent
        self._locals[request] = parent
        return request

    def cannot_queue(self, request: Request, parent: Delivery | None, error: Exception) -> None:
        """Something in ``request`` made queueing it fail; ``parent``, which yielded it, becomes a dead letter."""
        self._counts["errors"] += 1
        if parent is not None:
            parent.fail(f"link: {request.url}: {type(error).__name__}: {error}")

    @property
    def tickets(self) -> Iterable[Ticket]:
        """Of all claimed requests whose download has not ended."""
        return self._tickets.values()

    def ticket_of(self, request: Request) -> Ticket:
        """What the gate is shown for ``request``."""
        delivery = self._deliveries.get(request)
        ticket = self._tickets.get(delivery.request_id) if delivery is not None else None
        return ticket or Ticket(host_of(request))

    # ------------------------------------------------------------------ outcomes

    def left_downloader(self, request: Request) -> None:
        """The download of ``request`` has ended, whatever came of it: its host's slot is free again."""
        delivery = self._deliveries.get(request)
        if delivery is not None and self.forgot(delivery.request_id):
            self._say(Left(delivery.request_id))

    def answered(self, request: Request, response: Response) -> None:
        """The spider gets ``response`` for ``request``."""
        self._deliveries.answered(request, response)

    def gave_up(self, request: Request, reason: str, error: str) -> None:
        """The download of ``request`` failed for good; it becomes a dead letter unless its errback handles that."""
        delivery = self._deliveries.get(request)
        if delivery is not None:
            delivery.fail(f"{reason}: {error}")

    def not_started(self, request: Request) -> None:
        """``request`` is not started here, or not now: it goes back, whatever the engine makes of it."""
        delivery = self._deliveries.get(request)
        if delivery is not None:
            self._goes_back.add(delivery)
            request.errback = None  # this is no failure that the spider should hear of
        else:
            self.taint()  # a file, say, of one of the pages in hands, and nothing tells of which

    def taint(self) -> None:
        """Puts of what is in hands may be gone: nothing of it may be acked."""
        self._goes_back.update(self._deliveries.values())

    # ------------------------------------------------------------------ what Scrapy says

    def _spider_error(self, failure: Failure, response: Response | Failure) -> None:
        self._failed(response, "callback", failure)

    def _item_error(self, response: Response | Failure | None, failure: Failure) -> None:
        self._stats.inc_value(stat.ITEM_ERRORS)
        self._failed(response, "item", failure)

    def _failed(self, response: Any, reason: str, failure: Failure) -> None:
        self._counts["errors"] += 1
        delivery = self._deliveries.of(response)
        if delivery is not None:
            delivery.fail(f"{reason}: {failure.type.__name__ if failure.type else '?'}: {failure.getErrorMessage()}")

    def _done(self, request: Request) -> None:
        if request in self._locals:
            parent = self._locals.pop(request)
            if parent is not None:
                del self._deliveries[request]
                parent.release()
            return
        delivery = self._deliveries.get(request)
        if delivery is not None:
            self.forgot(delivery.request_id)
            delivery.release()

    def _settled(self, request: Request, delivery: Delivery) -> None:
        del self._deliveries[request]
        self._storing.discard(delivery.request_id)
        if delivery in self._goes_back:
            self._goes_back.discard(delivery)
            self._say(GiveBack(delivery.request_id))
        elif delivery.error is None:
            pages = 1 if delivery.items else 0
            self._counts["acked"] += 1
            self._counts["pages"] += pages
            self._stats.inc_value(stat.ACKED)
            self._stats.inc_value(stat.PAGES, pages)
            self._say(Ack(delivery.request_id, pages))
        else:
            self._dead(request, delivery)

    def _dead(self, request: Request, delivery: Delivery) -> None:
        assert delivery.error is not None
        reason, _, error = mask_of_url(delivery.error, request.url).partition(": ")
        self._stats.inc_value(stat.DEAD)
        logger.error(
            "Gave up %(request)s (%(reason)s): %(error)s. It is kept as a dead letter.",
            {"request": mask(str(request)), "reason": reason, "error": error},
            extra={"spider": self._crawler.spider},
        )
        letter = {
            "reason": reason,
            "error": error[:MOST_ERROR],
            "url": mask(request.url),
            "attempts": request.meta.get("retry_times", 0) + 1,
        }
        self._say(Bury(delivery.request_id, json.dumps(letter).encode()))
