"""A spider for eggs: it yields what a redelivery could store or count twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scrapy import Request

from spiders_project.spider_bases import SharedSpider


@dataclass
class Shelf:
    key_fields: ClassVar = ("name",)

    name: str


class ShelvesSpider(SharedSpider):
    """Five items without a key a page, some of them equal, and two that stand on many pages."""

    name = "shelves"

    def parse(self, response):
        for row in range(5):
            yield {"url": response.url, "row": row % 2}
        yield Shelf("everywhere")
        yield Shelf(response.url.split("/")[2])
        for link in response.css("a::attr(href)"):
            yield Request(response.urljoin(link.get()), self.parse)
