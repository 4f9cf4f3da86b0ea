"""As same_plain, with this project's storage."""

import os

from benchmarks.peers.same_plain import EXTENSIONS, LOG_LEVEL, SPIDER_MODULES, TELNETCONSOLE_ENABLED
from spiders_project.settings import ITEM_PIPELINES, ITEM_PROCESSOR

__all__ = [
    *("EXTENSIONS", "ITEM_PIPELINES", "ITEM_PROCESSOR", "LOG_LEVEL", "SPIDER_MODULES", "TELNETCONSOLE_ENABLED"),
]

MONGO_URI = os.environ["MONGO_URI"]
MONGO_DATABASE = os.environ["MONGO_DATABASE"]
# Keyless items of Scrapy's own scheduler have no request to be told apart by.
ITEM_KEYS = {"dict": ["url", "name"] if os.environ.get("BENCH_ROWS") else ["url"]}
