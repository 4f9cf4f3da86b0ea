"""A spider of pages with a hundred items each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy

from benchmarks.peers.spiders import SEEDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class RowsSpider(scrapy.Spider):
    """An item a row; the pages have no links."""

    name = "rows"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """All pages."""
        for url in SEEDS:
            yield scrapy.Request(url)

    def parse(self, response: Any) -> Iterator[object]:
        """An item a row."""
        for row in response.css("li.item"):
            yield {
                "name": row.css("b::text").get(),
                "price": row.css("i::text").get(),
                "about": row.css("u::text").get(),
                "url": response.url,
            }


class BareSpider(RowsSpider):
    """A hundred items a page without parsing: what is left is Scrapy and the storage."""

    name = "bare"

    def parse(self, response: Any) -> Iterator[object]:
        """Made-up items."""
        page = response.url
        for number in range(100):
            yield {"name": f"Thing {number}", "price": 1.5, "about": "a line about it, and more and more", "url": page}
