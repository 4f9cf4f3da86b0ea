"""The base of a spider with callbacks."""

from __future__ import annotations

from scrapy_redis.spiders import RedisSpider

from spiders_project.spider_bases.mixin import SharedMixin


class SharedSpider(SharedMixin, RedisSpider):  # type: ignore[misc]  # scrapy-redis ships no types
    """``scrapy.Spider`` on the shared frontier."""
