"""What connects a request with the items it yields, so that its ack waits for exactly them.

A *delivery* is one claimed request on its way through a worker. Whoever still has work to do for it holds it:
the engine until the callback has ended, each item until its pipelines have ended, the storage until the
database has acknowledged. When the last hold is released the delivery is *settled* and the frontier acks it.

The frontier creates deliveries, a spider middleware registers each item with its delivery and its ordinal, and
the item processor publishes the item's origin to the pipelines through a context variable. Pipelines therefore
know this module, and never the frontier.
"""

from __future__ import annotations

import time
from collections import deque
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


@dataclass(slots=True, eq=False)
class Delivery:
    """One claimed request on its way through this worker.

    Attributes:
        request_id: The frontier's id of the request; the same again after a redelivery.
        fingerprint_of: Gives the request's fingerprint, as the crawler's fingerprinter does; the same again after
            a redelivery. Few ask for it, and it takes a fiftieth of a page's time.
        on_settled: Called once, with the delivery, when the last hold is released.
        error: Why the request is a dead letter and not done, or None.
        items: How many items the callback has yielded so far.
        run: The id of the run that the request belongs to.
        url: Its URL, for logs.
        since: When this worker's engine took it, by ``time.monotonic()``.
    """

    request_id: str
    fingerprint_of: Callable[[], bytes]
    on_settled: Callable[[Delivery], None]
    error: str | None = None
    items: int = 0
    run: str = ""
    url: str = ""
    holds: int = field(default=1, init=False)
    since: float = field(default_factory=time.monotonic, init=False)

    @property
    def fingerprint(self) -> bytes:
        """The request's fingerprint."""
        return self.fingerprint_of()

    @property
    def uid(self) -> str:
        """A name for the request that no other run, of this crawl or another, uses again."""
        return f"{self.run}:{self.request_id}" if self.run else self.request_id

    def hold(self) -> None:
        """Somebody has work to do before the request may leave the frontier."""
        if self.holds <= 0:
            msg = f"request {self.request_id} is settled: nobody can hold it any more"
            raise RuntimeError(msg)
        self.holds += 1

    def release(self) -> None:
        """The work behind one ``hold()`` is done."""
        if self.holds <= 0:
            msg = f"request {self.request_id} was released more often than held"
            raise RuntimeError(msg)
        self.holds -= 1
        if not self.holds:
            self.on_settled(self)

    def fail(self, reason: str) -> None:
        """Make the request a dead letter when it settles; the first reason is kept."""
        if self.error is None:
            self.error = reason


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an item comes from: its delivery, and its place (0, 1, …) in the callback's output."""

    delivery: Delivery
    ordinal: int


class Origins:
    """The items on their way from callbacks to pipelines, found again by identity.

    An item is kept alive from ``register`` to ``take``, so an id cannot be reused meanwhile. A callback that
    yields one reused object several times gets its origins back in the order of the yields.
    """

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Any, deque[Origin]]] = {}

    def register(self, item: Any, origin: Origin) -> None:
        """Remember where ``item`` comes from, until ``take``."""
        entry = self._by_id.get(id(item))
        if entry is None:
            self._by_id[id(item)] = (item, deque([origin]))
        else:
            entry[1].append(origin)

    def take(self, item: Any) -> Origin | None:
        """Where ``item`` comes from; None for an item of ``start()`` or of a spider without our frontier."""
        entry = self._by_id.get(id(item))
        if entry is None:
            return None
        origin = entry[1].popleft()
        if not entry[1]:
            del self._by_id[id(item)]
        return origin

    def __len__(self) -> int:
        return len(self._by_id)


#: The origin of the item whose pipelines run in this task; None outside, and for items without a request.
current_origin: ContextVar[Origin | None] = ContextVar("current_origin", default=None)

_origins: WeakKeyDictionary[Crawler, Origins] = WeakKeyDictionary()


def origins_of(crawler: Crawler) -> Origins:
    """The items on their way through ``crawler``, from its spider middleware to its item processor."""
    return _origins.setdefault(crawler, Origins())


class Deliveries(dict["Request | None", Delivery]):
    """The claimed requests that one crawler works on; those that did not come from the frontier are not in it."""

    def __init__(self) -> None:
        super().__init__()
        self._by_response: WeakKeyDictionary[Response, Delivery] = WeakKeyDictionary()

    def answered(self, request: Request, response: Response) -> None:
        """``response`` is what the spider gets for ``request``.

        A middleware may give a response of another request (``replace(request=…)``, ``download_async``): then its
        ``request`` does not tell.
        """
        if response.request is not None and response.request is not request and request in self:
            self._by_response[response] = self[request]

    def of(self, response: Any) -> Delivery | None:
        """The delivery that a response, or a failure, on its way through the spider is the outcome of."""
        if self._by_response and response in self._by_response:
            return self._by_response[response]
        return self.get(getattr(response, "request", None))


_deliveries: WeakKeyDictionary[Crawler, Deliveries] = WeakKeyDictionary()


def deliveries_of(crawler: Crawler) -> Deliveries:
    """The claimed requests that ``crawler`` works on."""
    return _deliveries.setdefault(crawler, Deliveries())


#: Requests on their way from a callback to the scheduler at once: what Scrapy handles of one output, and those that
#: a signal's receiver has dropped on the way.
MOST_ON_THEIR_WAY = 1000


class Parents:
    """For requests on their way from a callback to the scheduler: the delivery that yielded them.

    The way is short, and nearly nobody asks; so this keeps the last ones and knows them by identity, which costs a
    tenth of weak references.
    """

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Request, Delivery]] = {}

    def note(self, request: Request, delivery: Delivery) -> None:
        """``delivery`` has yielded ``request``."""
        if len(self._by_id) >= MOST_ON_THEIR_WAY:
            del self._by_id[next(iter(self._by_id))]
        self._by_id[id(request)] = request, delivery

    def take(self, request: Request) -> Delivery | None:
        """Who has yielded ``request``, which has arrived; None when nobody did."""
        entry = self._by_id.pop(id(request), None)
        return entry[1] if entry is not None else None


_parents: WeakKeyDictionary[Crawler, Parents] = WeakKeyDictionary()


def parents_of(crawler: Crawler) -> Parents:
    """The requests of ``crawler`` that are on their way to its scheduler."""
    return _parents.setdefault(crawler, Parents())
