"""Every page of the seeds' hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from spiders_project.spider_bases import Document, Scope, SharedSpider
from spiders_project.spider_bases.arguments import CrawlArguments, FollowOptions, options_of
from spiders_project.spider_bases.links import MAX_SERIES, is_binary, is_endless, shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from spiders_project.items import Page


class SiteArguments(FollowOptions, CrawlArguments):
    """``allow``, ``deny``, ``max_depth``, ``max_pages``, ``allowed_domains``, ``start_urls``."""


class SiteSpider(SharedSpider):
    """Follows links through each seed's host, or through ``allowed_domains``, and stores the pages."""

    name = "site"
    arguments = SiteArguments
    allowed_domains: list[str] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.options = FollowOptions.model_construct(
            **{name: getattr(self, name) for name in FollowOptions.model_fields if hasattr(self, name)}
        )

    def parse(self, response: Response) -> Iterator[Page | Request]:
        """Yield the page, and a request for each link of it that is worth one."""
        scope = Scope(response, self.allowed_domains)
        if response.url not in scope:
            self._count("skipped/redirected_offsite")
            return
        document = Document.of(response)
        if document is None:
            self._count("skipped/no_text")
            return
        if "noindex" in document.robots:
            self._count("skipped/noindex")
        else:
            yield document.page()
        if "nofollow" not in document.robots:
            yield from self._follow(document, scope)

    def _follow(self, document: Document, scope: Scope) -> Iterator[Request]:
        response = document.response
        carried = {name: response.meta[name] for name in FollowOptions.model_fields if name in response.meta}
        options = options_of(self.options, carried)
        if options.max_depth is not None and response.meta.get("depth", 0) >= options.max_depth:
            return
        here, series = shape(response.url), response.meta.get("series", 0)
        for url, nofollow in document.links:
            if (
                nofollow
                or url in self.known_links
                or url not in scope
                or is_binary(url)
                or not options.admits(url)
            ):
                continue
            hops = series + 1 if shape(url) == here else 0
            if hops > MAX_SERIES or is_endless(url):
                self._count("skipped/endless")
                continue
            meta = {**carried, **scope.meta_for(url)}
            if hops:
                meta["series"] = hops
            yield Request(url, meta=meta)

    def _count(self, what: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(f"site/{what}")
