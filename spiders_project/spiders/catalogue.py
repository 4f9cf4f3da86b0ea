"""The products of the sample site: the spider to copy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spiders_project.items import Product
from spiders_project.spider_bases import SharedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request


class CatalogueSpider(SharedSpider):
    """Seed it with the shop's first page: it walks categories, their further pages, and products."""

    name = "catalogue"

    def parse(self, response: Any) -> Iterator[Request]:
        """Follow the categories of the first page."""
        yield from response.follow_all(css="nav.categories a", callback=self.parse_listing)

    def parse_listing(self, response: Any) -> Iterator[Request]:
        """Follow the products of a listing, and its next page."""
        yield from response.follow_all(css=".product a.title", callback=self.parse_product)
        yield from response.follow_all(css="a[rel=next]", callback=self.parse_listing)

    def parse_product(self, response: Any) -> Iterator[Product]:
        """Read a product: what the page says in JSON-LD, the rest from its markup."""
        product = json.loads(response.css("script[type='application/ld+json']::text").get(""))
        offer = product["offers"]
        yield Product(
            sku=product["sku"],
            name=response.css("h1::text").get(""),
            url=response.url,
            price=offer["price"],
            currency=offer["priceCurrency"],
            availability=offer["availability"].rpartition("/")[2],
            categories=response.css(".breadcrumb a::text").getall(),
            images=response.css(".gallery img::attr(alt)").getall(),
            description=response.css(".description::text").get(""),
        )
