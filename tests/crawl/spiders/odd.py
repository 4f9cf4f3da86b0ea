import asyncio
import threading
from hashlib import sha1
from itertools import count
from typing import ClassVar

from scrapy import Request, Selector
from scrapy_redis.spiders import RedisSpider

from spiders_project.spider_bases import SharedSpider
from tests.crawl.spiders.tree import TreeSpider


class OwnSeedsSpider(TreeSpider):
    """A tree spider with start_urls of its own (argument ``own``)."""

    name = "own"

    def __init__(self, *args, own="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [own]


class UnwritableSpider(SharedSpider):
    """Sends requests that cannot be written to the frontier (F6), each in its own way."""

    name = "unwritable"

    def parse(self, response):
        yield {"url": response.url}
        yield Request(response.urljoin("/p/1"), lambda found: self.parse_odd(found, row=1))
        yield Request(response.urljoin("/p/2"), self.parse_odd, meta={"lock": threading.Lock()})
        yield Request(response.urljoin("/p/3"), self.parse_odd, cb_kwargs={"row": Selector(text="<p>x</p>")})
        yield Request(response.urljoin("/p/4"), self.parse_odd, meta={"body": "x" * 5000})  # F23
        yield Request(response.urljoin("/p/5"), self.parse_odd)

    def parse_odd(self, response, row=None):
        yield {"url": response.url}


class PathFingerprinter:
    """Two URLs with the same path are one page (F11)."""

    def fingerprint(self, request):
        return sha1(request.url.partition("?")[0].encode()).digest()


class TogetherSpider(SharedSpider):
    """Five identical requests with ``dont_filter`` (F9), and one URL in several spellings (F11)."""

    name = "together"

    def parse(self, response):
        yield {"url": response.url}
        for _ in range(5):
            yield Request(response.urljoin("/p/1"), self.parse_end, dont_filter=True)
        for n in range(5):
            yield Request(response.urljoin(f"/p/2?session={n}"), self.parse_end)

    def parse_end(self, response):
        yield {"url": response.url}


class StockSpider(RedisSpider):
    """As the tree spider, on scrapy-redis as it is."""

    name = "stock"

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)"):
            yield Request(response.urljoin(link.get()), self.parse)


class SlowStartSpider(TreeSpider):
    """Has its first request after a while."""

    name = "slowstart"

    async def start(self):
        await asyncio.sleep(3)
        yield Request(self.root, self.parse)


class EndlessStartSpider(SharedSpider):
    """Yields one request after the other, and says how many."""

    name = "endless"

    async def start(self):
        for number in count():
            if number % 1000 == 0:
                self.logger.info("yielded %d", number)
            yield Request(f"http://127.0.0.1:{self.port}/s/{number}", self.parse)

    def parse(self, response):
        yield {"url": response.url}


class BadLinksSpider(TreeSpider):
    """Yields a dozen links that cannot be queued, then good ones."""

    name = "badlinks"
    custom_settings: ClassVar = {"REQUEST_FINGERPRINTER_CLASS": "tests.crawl.spiders.odd.PickyFingerprinter"}

    def parse(self, response):
        for number in range(12):
            yield Request(response.urljoin(f"/bad/{number}"), self.parse)
        yield from super().parse(response)


class PickyFingerprinter:
    """Cannot stand some URLs."""

    def fingerprint(self, request):
        if "/bad/" in request.url:
            raise ValueError("no such page")
        return sha1(request.url.encode()).digest()


class RedirectedLocalSpider(SharedSpider):
    """A request that only this worker has is redirected."""

    name = "redirected"

    def parse(self, response):
        yield {"url": response.url}
        yield Request(response.urljoin("/moved"), lambda found: self.parse_odd(found))  # noqa: PLW0108 - the point

    def parse_odd(self, response):
        yield {"url": response.url}
