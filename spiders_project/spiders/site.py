"""Every page of the seeds' hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spiders_project.spider_bases import CrawlArguments, Document, FollowOptions, Scope, SharedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from spiders_project.items import Page


class SiteArguments(FollowOptions, CrawlArguments):
    """``allow``, ``deny``, ``max_depth``, ``max_series``; ``max_pages``, ``allowed_domains``, ``start_urls``."""


class SiteSpider(SharedSpider):
    """Follows links through each seed's host, or through ``allowed_domains``, and stores the pages."""

    name = "site"
    arguments = SiteArguments
    allowed_domains: list[str] | None = None

    def parse(self, response: Response) -> Iterator[Page | Request]:
        """Yield the page, and a request for each link of it that is worth one."""
        document = Document.of(response)
        if response.url not in Scope(response, self.allowed_domains):
            self.count("site/redirected_offsite")
        elif document is None:
            self.count("site/no_text")
        else:
            if "noindex" in document.robots:
                self.count("site/noindex")
            else:
                yield document.page()
            yield from self.follow_links(document)
