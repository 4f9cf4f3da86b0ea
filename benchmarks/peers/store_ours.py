"""As same_plain, with this project's storage."""

import os

from benchmarks.peers.same_plain import *  # noqa: F403 - a settings module is nothing but names
from spiders_project.settings import ITEM_PIPELINES, ITEM_PROCESSOR  # noqa: F401 - for Scrapy

MONGO_URI = os.environ["MONGO_URI"]
MONGO_DATABASE = os.environ["MONGO_DATABASE"]
# Keyless items of Scrapy's own scheduler have no request to be told apart by.
ITEM_KEYS = {"dict": ["url", "name"] if os.environ.get("BENCH_ROWS") else ["url"]}
