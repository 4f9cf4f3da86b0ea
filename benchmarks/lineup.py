"""The sides of the crawls, by the names that the table uses."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.sides import Side

PLAIN = Side("plain Scrapy", "same", "same_plain")
OURS = Side("ours", "same", "same_ours")
STOCK = Side("scrapy-redis 0.9.1", "stock", "stock", seeds_key="stock:start_urls")

TUTORIAL = Side("plain Scrapy", "tutorial", "plain")
SHARED = Side("ours", "shared", "ours")


def two(side: Side) -> Side:
    """The same side with two processes; those of plain Scrapy share nothing, and each crawls a half of the site."""
    return replace(side, workers=2, split=side.settings in {"same_plain", "plain"})
