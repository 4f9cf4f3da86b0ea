"""One crawl, written by two authors: one who has read Scrapy's tutorial, one who has read docs/spiders.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy

from benchmarks.peers.spiders import DOMAINS, SEEDS
from spiders_project.spider_bases import SharedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator


class TutorialSpider(scrapy.Spider):
    """As https://docs.scrapy.org/en/latest/intro/tutorial.html writes it."""

    name = "tutorial"
    allowed_domains = DOMAINS
    start_urls = SEEDS

    def parse(self, response: Any) -> Iterator[object]:
        """An item a page, then its links."""
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a", callback=self.parse)


class SharedTutorialSpider(SharedSpider):
    """As docs/spiders.md writes it."""

    name = "shared"
    allowed_domains = DOMAINS
    start_urls = SEEDS

    def parse(self, response: Any) -> Iterator[object]:
        """An item a page, then its links."""
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from self.follow_links(response)
