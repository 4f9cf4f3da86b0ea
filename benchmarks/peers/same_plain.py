"""The settings that both sides of "same code" share: Scrapy's defaults, without a line of log for each request."""

from benchmarks.peers.plain import EXTENSIONS, SPIDER_MODULES

__all__ = ["EXTENSIONS", "SPIDER_MODULES"]

LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
