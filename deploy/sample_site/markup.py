"""The HTML of the sample site's pages."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deploy.sample_site.products import Product


def page(title: str, body: str, *, head: str = "", language: str = "en") -> str:
    """A whole document around ``body``."""
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="description" content="{escape(title)} at the sample shop">{head}</head>'
        '<body><nav><a href="/">Home</a> <a href="/about">About</a></nav>'
        f"<main><h1>{escape(title)}</h1>{body}</main>"
        "<footer>The sample shop exists on loopback only.</footer></body></html>\n"
    )


def links(hrefs: Iterable[tuple[str, str]], attributes: str = "") -> str:
    """A list of links: (href, text) each."""
    items = "".join(
        f'<li><a href="{escape(href)}"{attributes}>{escape(text)}</a></li>' for href, text in hrefs
    )
    return f"<ul>{items}</ul>"


def listing(category: str, products: Iterable[Product], next_href: str | None) -> str:
    """One page of a category."""
    rows = "".join(
        f'<div class="product"><a class="title" href="{product.path}">{escape(product.name)}</a> '
        f"<span>{product.price} {product.currency}</span></div>"
        for product in products
    )
    further = f'<a rel="next" href="{escape(next_href)}">Next page</a>' if next_href else ""
    return page(category, rows + further)


def product_page(product: Product, url: str, category_href: str, related: Iterable[Product]) -> str:
    """The page of one product."""
    data = {
        "@context": "https://schema.org",
        "@type": "Product",
        "sku": product.sku,
        "name": product.name,
        "offers": {
            "@type": "Offer",
            "price": str(product.price),
            "priceCurrency": product.currency,
            "availability": f"https://schema.org/{product.availability}",
        },
    }
    linked_data = json.dumps(data).replace("<", "\\u003c")
    head = (
        '<meta property="og:type" content="product">'
        f'<meta property="og:title" content="{escape(product.name)}">'
        f'<meta property="og:url" content="{escape(url)}"><link rel="canonical" href="/somewhere-else">'
        f'<script type="application/ld+json">{linked_data}</script>'
    )
    images = "".join(
        f'<img src="/image/{product.sku}-{n}.png" alt="{escape(alt)}">'
        for n, alt in enumerate(product.images)
    )
    body = (
        f'<p class="breadcrumb"><a href="/">{product.categories[0]}</a> / '
        f'<a href="{category_href}">{product.categories[1]}</a></p>'
        f'<div class="gallery">{images}</div><p class="description">{escape(product.description)}</p>'
        f"<h2>Others also bought</h2>{links((other.path, other.name) for other in related)}"
    )
    return page(product.name, body, head=head)
