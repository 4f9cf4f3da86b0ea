"""The project's own settings, made quick for small sites; each test overrides what it is about."""

from spiders_project.settings import *  # noqa: F403 - a settings module is nothing but names
from spiders_project.settings import EXTENSIONS as _EXTENSIONS

SPIDER_MODULES = ["tests.crawl.spiders"]
ITEM_PIPELINES = {"tests.crawl.worker_side.JsonLines": 300}
EXTENSIONS = {**_EXTENSIONS, "tests.crawl.worker_side.Witness": 0}

ROBOTSTXT_OBEY = False
DOWNLOAD_DELAY = 0.0
DOWNLOAD_DELAY_JITTER = 0.0
CONCURRENT_REQUESTS = 16
CONCURRENT_REQUESTS_PER_DOMAIN = 16
RETRY_BACKOFF_SECONDS = 0.05
MAX_IDLE_TIME_BEFORE_CLOSE = 1
FRONTIER_LEASE_SECONDS = 4.0
