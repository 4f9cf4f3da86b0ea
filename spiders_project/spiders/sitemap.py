"""The pages that a site's sitemaps name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy import Request, spiders
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots

from spiders_project.spider_bases import Document, Scope, SharedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from spiders_project.items import Page


class SitemapSpider(SharedSpider, spiders.SitemapSpider):
    """Seeds are a site's root, its robots.txt, or a sitemap; pages on other hosts are left out."""

    name = "sitemap"
    allowed_domains: list[str] | None = None

    def parse(self, response: Response) -> Iterator[Request]:
        """Read a seed: a sitemap, a robots.txt that names some, or else a page, for its site's robots.txt."""
        scope = Scope(response, self.allowed_domains)
        if urlsplit(response.url).path == "/robots.txt":
            yield from self.parse_robots(response)
        elif self._get_sitemap_body(response):
            yield from self.parse_sitemap(response)
        else:
            url = urljoin(response.url, "/robots.txt")
            meta = {"handle_httpstatus_all": True, "seed": response.url, **scope.meta_for(url)}
            yield Request(url, self.parse_robots, meta=meta, dont_filter=True)

    def parse_robots(self, response: Response) -> Iterator[Request]:
        """Read the sitemaps that robots.txt names; where it names none, the usual place."""
        scope = Scope(response, self.allowed_domains)
        named = list(sitemap_urls_from_robots(response.body, response.url)) if response.status == 200 else []  # noqa: PLR2004 - HTTP's own number
        for url in named or [urljoin(response.url, "/sitemap.xml")]:
            yield Request(url, self.parse_sitemap, meta={**_seed(response), **scope.meta_for(url)})

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        """Read a sitemap, gzipped or not, or an index of them."""
        scope = Scope(response, self.allowed_domains)
        body = self._get_sitemap_body(response)
        sitemap = Sitemap(body) if body else None
        if sitemap is None or sitemap.type not in ("sitemapindex", "urlset"):
            self.logger.warning("no sitemap at %(url)s: skipped", {"url": response.url})
            self.count("sitemap/broken")
            return
        for entry in self.sitemap_filter(sitemap):
            url = urljoin(response.url, entry["loc"])
            if sitemap.type == "sitemapindex":
                yield Request(url, self.parse_sitemap, meta={**_seed(response), **scope.meta_for(url)})
            elif url in scope:
                yield Request(
                    url,
                    self.parse_page,
                    meta=scope.meta_for(url),
                    cb_kwargs={"lastmod": entry["lastmod"]} if entry.get("lastmod") else {},
                    # The seed was fetched to find this sitemap, and is a page of its own all the same.
                    dont_filter=url == response.meta.get("seed"),
                )

    def parse_page(self, response: Response, lastmod: str | None = None) -> Iterator[Page]:
        """Store a page, with the time of change that the sitemap gave."""
        document = Document.of(response)
        if document is None:
            self.count("sitemap/no_text")
        elif "noindex" in document.robots:
            self.count("sitemap/noindex")
        else:
            yield document.page(lastmod)


def _seed(response: Response) -> dict[str, str]:
    return {"seed": response.meta["seed"]} if "seed" in response.meta else {}
