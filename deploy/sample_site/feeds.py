"""The site's RSS and Atom feeds, its robots.txt and its sitemaps."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from deploy.sample_site.products import PRODUCTS
from deploy.sample_site.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable

ENTRIES_IN_FEED = 15
_EPOCH = datetime(2026, 1, 1, 8, 30, tzinfo=timezone(timedelta(hours=2)))
_XML = '<?xml version="1.0" encoding="utf-8"?>\n'


@dataclass(frozen=True)
class Entry:
    """An entry of a feed; times are aware, and ``updated`` is None in RSS."""

    id: str
    feed_url: str
    url: str
    title: str
    summary: str
    published: datetime
    updated: datetime | None


def rss_entries(base_url: str) -> list[Entry]:
    """The entries of ``/feed.rss``."""
    return _entries(base_url, "feed.rss", offset=0, revised=False)


def atom_entries(base_url: str) -> list[Entry]:
    """The entries of ``/feed.atom``."""
    return _entries(base_url, "feed.atom", offset=100, revised=True)


def _entries(base_url: str, feed: str, *, offset: int, revised: bool) -> list[Entry]:
    return [
        Entry(
            id=f"tag:sample,2026:{product.sku}",
            feed_url=f"{base_url}{feed}",
            url=f"{base_url}{product.path[1:]}",
            title=product.name,
            summary=f"New in the shop: {product.sku}.",
            published=_EPOCH + timedelta(hours=number),
            updated=_EPOCH + timedelta(hours=number, days=3) if revised else None,
        )
        for number, product in enumerate(PRODUCTS[offset : offset + ENTRIES_IN_FEED])
    ]


def lastmod(number: int) -> str:
    """When the product of this number last changed, as the sitemap says it."""
    return (_EPOCH + timedelta(days=number)).date().isoformat()


def feed_routes(base_url: str) -> dict[str, Reply]:
    """Path → reply of robots.txt, sitemaps and feeds; ``base_url`` ends with a slash."""
    return {
        "/robots.txt": _text(f"User-agent: *\nDisallow: /private/\n\nSitemap: {base_url}sitemap.xml\n"),
        "/sitemap.xml": _xml(_sitemap_index(base_url, ("sitemap-pages.xml", "sitemap-products.xml.gz"))),
        "/sitemap-pages.xml": _xml(
            _urlset((f"{base_url}{path}", None) for path in ("", "about", "noindex", "missing", "manual.pdf"))
        ),
        "/sitemap-products.xml.gz": Reply(
            gzip.compress(_urlset(sitemap_products(base_url).items()).encode(), mtime=0),
            content_type="application/gzip",
        ),
        "/feed.rss": _xml(_rss(base_url), "application/rss+xml"),
        "/feed.atom": _xml(_atom(base_url), "application/atom+xml"),
        "/feed-broken.xml": _xml("<html><p>Service unavailable"),
    }


def sitemap_products(base_url: str) -> dict[str, str]:
    """URL → lastmod of every product."""
    return {f"{base_url}{product.path[1:]}": lastmod(number) for number, product in enumerate(PRODUCTS)}


def _text(text: str) -> Reply:
    return Reply(text.encode(), content_type="text/plain; charset=utf-8")


def _xml(text: str, content_type: str = "application/xml") -> Reply:
    return Reply(text.encode(), content_type=content_type)


def _sitemap_index(base_url: str, names: Iterable[str]) -> str:
    maps = "".join(f"<sitemap><loc>{base_url}{name}</loc></sitemap>" for name in names)
    return f'{_XML}<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{maps}</sitemapindex>'


def _urlset(urls: Iterable[tuple[str, str | None]]) -> str:
    entries = "".join(
        f"<url><loc>{url}</loc>{f'<lastmod>{modified}</lastmod>' if modified else ''}</url>"
        for url, modified in urls
    )
    return f'{_XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def _rss(base_url: str) -> str:
    items = "".join(
        f'<item><guid isPermaLink="false">{entry.id}</guid><title>{escape(entry.title)}</title>'
        f"<link>{entry.url}</link><description>{escape(entry.summary)}</description>"
        f"<pubDate>{format_datetime(entry.published)}</pubDate></item>"
        for entry in rss_entries(base_url)
    )
    channel = f"<title>News</title><link>{base_url}</link><description>New products</description>"
    return f'{_XML}<rss version="2.0"><channel>{channel}{items}</channel></rss>'


def _atom(base_url: str) -> str:
    entries = "".join(
        f'<entry><id>{entry.id}</id><title>{escape(entry.title)}</title><link href="{entry.url}"/>'
        f"<summary>{escape(entry.summary)}</summary><published>{entry.published.isoformat()}</published>"
        f"<updated>{(entry.updated or entry.published).isoformat()}</updated></entry>"
        for entry in atom_entries(base_url)
    )
    return f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>{base_url}</id>{entries}</feed>'
