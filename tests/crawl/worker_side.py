"""What the tests put into a worker: a store that survives kill -9, and a witness of its life."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from scrapy import signals
from twisted.internet.task import LoopingCall


class JsonLines:
    """Appends each item to ``items.jsonl`` of the working directory, safe on disk before it returns."""

    def open_spider(self):
        self.file = os.open("items.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def process_item(self, item):
        os.write(self.file, json.dumps(dict(item)).encode() + b"\n")
        os.fsync(self.file)
        return item

    def close_spider(self):
        os.close(self.file)


class Witness:
    """Writes ``<pid>.json`` when the spider closes: reason, stats, and the longest gap of a ticker in the reactor."""

    INTERVAL = 0.05

    def __init__(self, crawler):
        self.crawler = crawler
        self.gap = 0.0
        self.last = None
        self.ticker = LoopingCall(self.tick)
        crawler.signals.connect(self.opened, signals.engine_started)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def opened(self):
        self.ticker.start(self.INTERVAL)

    def tick(self):
        now = time.monotonic()
        if self.last is not None:
            self.gap = max(self.gap, now - self.last)
        self.last = now
        if Path("gap.reset").exists():  # a test is not interested in how long the start took
            Path("gap.reset").unlink(missing_ok=True)
            self.gap = 0.0

    def closed(self, spider, reason):
        if self.ticker.running:  # not in a worker that closed before it started
            self.ticker.stop()
        said = {"reason": reason, "gap": self.gap, "stats": self.crawler.stats.get_stats()}
        Path(f"{os.getpid()}.json").write_text(json.dumps(said, default=str))
