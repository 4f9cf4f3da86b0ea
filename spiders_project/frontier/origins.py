"""Tells each item which request it comes from (``delivery``): a spider middleware, and the same for errbacks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import CloseSpider
from twisted.python.failure import Failure

from spiders_project.delivery import Delivery, Origin, deliveries_of, origins_of, parents_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: Outputs of ``start()`` after which others have their turn in the event loop.
START_TURN = 100


class _Notes:
    """Notes of each output which delivery it comes from."""

    def __init__(self, crawler: Crawler) -> None:
        self._origins = origins_of(crawler)
        self._parents = parents_of(crawler)

    def take(self, output: Any, delivery: Delivery) -> Any:
        """Note one output, and give it on.

        A dict is given on as a copy: Scrapy asks a callback for its next outputs before it handles the first ones,
        and a callback that fills one dict again and again would have changed them.
        """
        if isinstance(output, Request):
            self._parents.note(output, delivery)
        elif output is not None:
            if type(output) is dict:
                output = output.copy()
            self._origins.register(output, Origin(delivery, delivery.items))
            delivery.items += 1
        return output


class OriginMiddleware:
    """Registers each item that a callback yields with its delivery and its place in the output.

    It stands nearest to the engine, so that it sees what the other spider middlewares let through.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._deliveries = deliveries_of(crawler)
        self._notes = _Notes(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OriginMiddleware:
        """Build it."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Hold up an endless ``start()`` while Redis does not take what it yields."""
        scheduler = self._crawler.engine.scheduler
        room = getattr(scheduler, "room", None)
        count = 0
        async for output in start:
            if room is not None:
                await room()
            yield output
            count += 1
            if not count % START_TURN:
                await asyncio.sleep(0)  # the engine would go on without a pause while its slots are full

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterable[Any]:
        """Pass everything on; note where items come from."""
        delivery = self._deliveries.of(response)
        for output in result:
            yield output if delivery is None else self._notes.take(output, delivery)

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """As ``process_spider_output``, for callbacks that are async generators."""
        delivery = self._deliveries.of(response)
        async for output in result:
            yield output if delivery is None else self._notes.take(output, delivery)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """See a callback end by CloseSpider, which Scrapy sends no signal for."""
        delivery = self._deliveries.of(response)
        if delivery is not None:
            fail_if_closing(delivery, exception)


def fail_if_closing(delivery: Delivery, error: Exception) -> None:
    """What raises CloseSpider has not ended, so its links and items may be missing: as any other exception.

    Given back instead, the page would close the next worker, and the first one tomorrow.
    """
    if isinstance(error, CloseSpider):
        delivery.fail(f"callback: CloseSpider: {error.reason}")


class Errback:
    """An errback whose success counts: what it handles is no failure any more, and its items have an origin.

    Spider middlewares do not see what an errback yields after a failed download.
    """

    def __init__(self, wrapped: Callable[..., Any], delivery: Delivery, crawler: Crawler) -> None:
        self.wrapped = wrapped
        self._delivery = delivery
        self._notes = _Notes(crawler)

    def __call__(self, failure: Failure) -> Any:
        """Call the errback; what it raises passes through."""
        with self._noting():
            return self._handled(self.wrapped(failure))

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except CloseSpider as error:
            fail_if_closing(self._delivery, error)
            raise

    def _handled(self, output: Any) -> Any:
        if isinstance(output, Failure):
            return output  # not handled: the engine raises it
        if isinstance(output, Coroutine):
            return self._awaited(output)
        self._delivery.error = None
        if isinstance(output, AsyncIterator):
            return self._followed_async(output)
        if isinstance(output, Iterable) and not isinstance(output, dict | str | bytes):
            return self._followed(output)
        return self._notes.take(output, self._delivery)

    async def _awaited(self, output: Coroutine[Any, Any, Any]) -> Any:
        with self._noting():
            return self._handled(await output)

    def _followed(self, output: Iterable[Any]) -> Iterable[Any]:
        with self._noting():
            for one in output:
                yield self._notes.take(one, self._delivery)

    async def _followed_async(self, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        with self._noting():
            async for one in output:
                yield self._notes.take(one, self._delivery)
