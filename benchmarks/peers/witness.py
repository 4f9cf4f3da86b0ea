"""Extensions and pipelines of the measured Scrapy processes, the same on every side."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

#: Pages between two looks at the resident memory.
MEMORY_EVERY = 1000
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
#: Counts of what went wrong, by the beginnings of their names.
TROUBLE = ("log_count/ERROR", "log_count/CRITICAL", "retry/count", "downloader/exception_count", "spider_exceptions/")


class Witness:
    """Writes which pages came (``<pid>.urls``), and at the end how long that took and what it cost (``<pid>.json``).

    The clock runs from the engine's start to the last response or item, so that how a side finds out that a crawl is
    over (ours and scrapy-redis wait for seeds) is no part of it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        # In a file, since the resident memory is looked at, too.
        self._urls = Path(f"{os.getpid()}.urls").open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
        self._pages = 0
        self._memory: list[tuple[int, int]] = []
        self._started = self._last = self._cpu = self._cpu_last = 0.0
        crawler.signals.connect(self._engine_started, signals.engine_started)
        crawler.signals.connect(self._response_received, signals.response_received)
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's door."""
        return cls(crawler)

    def _engine_started(self) -> None:
        self._started = time.monotonic()
        self._cpu = time.process_time()

    def _response_received(self, response: Any) -> None:
        if response.url.endswith("/robots.txt"):
            return
        self._pages += 1
        self._urls.write(response.url + "\n")
        if self._pages % MEMORY_EVERY == 0:
            self._memory.append((self._pages, resident()))
        self._item_scraped()

    def _item_scraped(self) -> None:
        self._last = time.monotonic()
        self._cpu_last = time.process_time()

    def _spider_closed(self, reason: str) -> None:
        self._urls.close()
        stats = self._stats.get_stats() if self._stats else {}
        said = {
            "reason": reason,
            "started": self._started,
            "last": self._last,
            "closed": time.monotonic(),
            "cpu_last": self._cpu_last - self._cpu,
            "cpu_closed": time.process_time() - self._cpu,
            "items": stats.get("item_scraped_count", 0),
            "trouble": {name: count for name, count in stats.items() if name.startswith(TROUBLE) and count},
            "memory": [*self._memory, (self._pages, resident())],
            "stats": {name: value for name, value in stats.items() if isinstance(value, int | float | str)},
        }
        Path(f"{os.getpid()}.json").write_text(json.dumps(said), encoding="utf-8")


def resident() -> int:
    """Bytes of resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_SIZE


class JsonLines:
    """Appends each item to ``lines.jsonl`` before ``process_item`` returns: what is there survives kill -9."""

    def open_spider(self) -> None:
        """Open the file, which several workers may share."""
        self._file = os.open("lines.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def process_item(self, item: Any) -> Any:
        """Write the item."""
        os.write(self._file, json.dumps(dict(item)).encode() + b"\n")
        return item

    def close_spider(self) -> None:
        """Close the file."""
        os.close(self._file)
