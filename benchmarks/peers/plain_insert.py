"""As plain, with the pipeline of Scrapy's documentation: an insert for each item."""

from benchmarks.peers.plain import *  # noqa: F403 - a settings module is nothing but names

ITEM_PIPELINES = {"benchmarks.peers.insert.MongoPipeline": 300}
