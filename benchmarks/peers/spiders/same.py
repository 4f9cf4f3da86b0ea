"""The spider of "same code": one callback, run by every scheduler alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy
from scrapy_redis.spiders import RedisSpider

from benchmarks.peers.spiders import DOMAINS, SEEDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class SameSpider(scrapy.Spider):
    """An item a page, and a request for each link."""

    name = "same"
    allowed_domains = DOMAINS

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """The seeds, which a second worker does not crawl again."""
        for url in SEEDS:
            yield scrapy.Request(url)

    def parse(self, response: Any) -> Iterator[object]:
        """An item a page, then its links."""
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in response.css("a::attr(href)").getall():
            yield scrapy.Request(response.urljoin(link))


class StockSpider(RedisSpider):  # type: ignore[misc]  # scrapy-redis ships no types
    """The same callback on the base class that makes a worker of scrapy-redis wait while others have work."""

    name = "stock"
    allowed_domains = DOMAINS
    parse = SameSpider.parse
