"""The base of a spider with rules."""

from __future__ import annotations

from scrapy_redis.spiders import RedisCrawlSpider

from spiders_project.spider_bases.mixin import SharedMixin


class SharedCrawlSpider(SharedMixin, RedisCrawlSpider):  # type: ignore[misc]  # scrapy-redis ships no types
    """``scrapy.spiders.CrawlSpider`` on the shared frontier."""
