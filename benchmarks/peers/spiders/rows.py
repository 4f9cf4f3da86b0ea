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
