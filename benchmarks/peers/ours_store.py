"""As ours, with MongoDB, which is the default."""

from benchmarks.peers.ours import *  # noqa: F403 - a settings module is nothing but names
from spiders_project.settings import ITEM_PIPELINES  # noqa: F401 - for Scrapy

ITEM_KEYS = {"dict": ["url"]}
