"""Every route of the sample site, and what a crawl of it must find.

A route says itself whether a crawl stores its page; ``expected_pages`` is read from these declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from deploy.sample_site import feeds, oddities
from deploy.sample_site.markup import links, listing, page, product_page
from deploy.sample_site.products import CATEGORIES, PRODUCTS
from deploy.sample_site.reply import Reply, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.sample_site.feeds import Entry

PRODUCTS_ON_PAGE = 8
RELATED = 2


class Site:
    """The site as it looks under ``base_url``, which ends with a slash."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self._routes = {
            **_shop(base_url),
            **feeds.feed_routes(base_url),
            **oddities.odd_routes(other_host=f"http://localhost:{parts.port}/"),
        }

    def reply(self, target: str) -> Reply:
        """What the site answers to ``target``: a path with its query."""
        path, _, query = target.partition("?")
        found = self._routes.get(target) or self._routes.get(path.partition(";")[0])
        if found is None and path == "/huge":
            found = oddities.huge()
        elif found is None and path == "/calendar":
            found = oddities.calendar(parse_qs(query).get("month", [""])[0])
        elif found is None and path.startswith("/maze/"):
            found = oddities.maze(path)
        return found or Reply(page("Not found", "").encode(), status=404)

    def stored_targets(self) -> Iterator[str]:
        """The targets of the pages that a crawl stores."""
        yield from (target for target, reply in self._routes.items() if reply.stored)
        yield from oddities.calendar_targets()
        yield from oddities.maze_targets()


def expected_pages(base_url: str) -> set[str]:
    """The URLs of the pages that a crawl by links from ``base_url`` stores: exactly these.

    It obeys robots.txt, nofollow and noindex, drops session ids, and leaves the calendar and the maze as
    early as the ``site`` spider does by default.
    """
    return {f"{base_url}{target[1:]}" for target in Site(base_url).stored_targets()}


def expected_sitemap_pages(base_url: str) -> dict[str, str | None]:
    """URL → lastmod of the pages that the sitemaps name and that exist, say HTML and may be stored."""
    return {base_url: None, f"{base_url}about": None, **feeds.sitemap_products(base_url)}


def expected_entries(base_url: str) -> list[Entry]:
    """The entries of both feeds."""
    return [*feeds.rss_entries(base_url), *feeds.atom_entries(base_url)]


def _shop(base_url: str) -> dict[str, Reply]:
    home = page(
        "Sample shop",
        '<nav class="categories">' + links((_category_href(name), name) for name in CATEGORIES) + "</nav>"
        + links([("/about", "About"), ("/odd", "Odd corners"), ("/feed.rss", "RSS"), ("/feed.atom", "Atom")]),
    )  # fmt: skip
    routes = {"/": stored(home), "/about": stored(page("About", "<p>We sell instruments on loopback.</p>"))}
    for category in CATEGORIES:
        products = [product for product in PRODUCTS if product.categories[1] == category]
        for start in range(0, len(products), PRODUCTS_ON_PAGE):
            number = start // PRODUCTS_ON_PAGE + 1
            has_next = start + PRODUCTS_ON_PAGE < len(products)
            routes[_category_href(category, number)] = stored(
                listing(
                    category,
                    products[start : start + PRODUCTS_ON_PAGE],
                    _category_href(category, number + 1) if has_next else None,
                )
            )
    for number, product in enumerate(PRODUCTS):
        related = [PRODUCTS[(number + step) % len(PRODUCTS)] for step in range(1, RELATED + 1)]
        url = f"{base_url}{product.path[1:]}"
        routes[product.path] = stored(
            product_page(product, url, _category_href(product.categories[1]), related)
        )
    return routes


def _category_href(category: str, number: int = 1) -> str:
    return f"/category/{category.lower()}" + (f"?page={number}" if number > 1 else "")
