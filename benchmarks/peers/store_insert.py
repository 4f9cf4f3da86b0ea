"""As same_plain, with the pipeline of Scrapy's documentation: an insert for each item."""

from benchmarks.peers.same_plain import EXTENSIONS, LOG_LEVEL, SPIDER_MODULES, TELNETCONSOLE_ENABLED

__all__ = ["EXTENSIONS", "LOG_LEVEL", "SPIDER_MODULES", "TELNETCONSOLE_ENABLED"]

ITEM_PIPELINES = {"benchmarks.peers.insert.MongoPipeline": 300}
