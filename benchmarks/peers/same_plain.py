"""The settings that both sides of "same code" share: Scrapy's defaults, without a line of log for each request."""

from benchmarks.peers.plain import *  # noqa: F403 - a settings module is nothing but names

LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
