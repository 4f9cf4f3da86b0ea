"""As same_plain, on our scheduler: beside it and the dupefilter only what these two need."""

import os

from benchmarks.peers.same_plain import *  # noqa: F403 - a settings module is nothing but names
from benchmarks.peers.same_plain import EXTENSIONS as _EXTENSIONS
from spiders_project.settings import (  # noqa: F401 - for Scrapy
    DOWNLOADER,
    DUPEFILTER_CLASS,
    ITEM_PROCESSOR,
    SCHEDULER,
    SCHEDULER_PERSIST,
    SPIDER_MIDDLEWARES,
    TWISTED_REACTOR,
)

DOWNLOADER_MIDDLEWARES = {"spiders_project.downloader.outcome.OutcomeMiddleware": 1}
EXTENSIONS = {**_EXTENSIONS, "spiders_project.downloader.backoff.Backoff": 0}
REDIS_URL = os.environ["REDIS_URL"]
MAX_IDLE_TIME_BEFORE_CLOSE = 1
