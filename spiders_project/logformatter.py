"""Scrapy's log lines, made only where somebody will read them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import scrapy.logformatter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure
    from typing_extensions import Self


class LogFormatter(scrapy.logformatter.LogFormatter):
    """Scrapy's (``LOG_FORMATTER``), without the lines for each page and item where ``LOG_LEVEL`` hides them.

    Scrapy makes every line and lets its handler drop it: a sixth of a worker's time at a hundred items a page.
    """

    def __init__(self, *, verbose: bool = True) -> None:
        self._verbose = verbose

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it for the crawler's ``LOG_LEVEL``."""
        return cls(verbose=logging.Handler(crawler.settings["LOG_LEVEL"]).level <= logging.DEBUG)

    # Scrapy documents None for "no line", and its annotations forget it.

    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override] # see above
        """The line for a page, or None."""
        return super().crawled(request, response, spider) if self._verbose else None

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override] # see above
        """The line for an item, or None."""
        return super().scraped(item, response, spider) if self._verbose else None
