"""The spider middleware that tells each item which request it comes from (``delivery``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from spiders_project.delivery import Origin, deliveries_of, origins_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from spiders_project.delivery import Delivery


class OriginMiddleware:
    """Registers each item that a callback yields with its delivery and its place in the output.

    It stands nearest to the engine, so that it sees what the other spider middlewares let through.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._deliveries = deliveries_of(crawler)
        self._origins = origins_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OriginMiddleware:
        """Build it."""
        return cls(crawler)

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterable[Any]:
        """Pass everything on; note where items come from."""
        delivery = self._deliveries.get(response.request)
        for output in result:
            if delivery is not None and output is not None and not isinstance(output, Request):
                self._note(output, delivery)
            yield output

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """As ``process_spider_output``, for callbacks that are async generators."""
        delivery = self._deliveries.get(response.request)
        async for output in result:
            if delivery is not None and output is not None and not isinstance(output, Request):
                self._note(output, delivery)
            yield output

    def _note(self, item: Any, delivery: Delivery) -> None:
        self._origins.register(item, Origin(delivery, delivery.items))
        delivery.items += 1
