"""Spiders that use what Scrapy offers beside plain links."""

from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request

from spiders_project.spider_bases import SharedSpider
from tests.crawl.spiders.tree import TreeSpider


class AgainSpider(SharedSpider):
    """Asks for pages again that came without their content, from the callback."""

    name = "again"

    def parse(self, response):
        if response.text == "empty":
            yield get_retry_request(response.request, spider=self, reason="empty")
        else:
            yield {"url": response.url, "times": response.meta.get("retry_times", 0)}


class ListSpider(SharedSpider):
    """Follows the URLs that the first page lists, a line each."""

    name = "list"

    def parse(self, response):
        for url in response.text.split():
            yield Request(url, self.parse_one)

    def parse_one(self, response):
        yield {"url": response.url, "slot": response.meta["download_slot"]}


class StubbornSpider(SharedSpider):
    """A request that only this worker has fails a few times."""

    name = "stubborn"

    def parse(self, response):
        yield {"url": response.url}
        yield Request(response.urljoin("/flaky"), lambda found: self.parse_odd(found))  # noqa: PLW0108 - the point

    def parse_odd(self, response):
        yield {"url": response.url}


class LimitedSpider(TreeSpider):
    """A tree spider under another name."""

    name = "limited"


class ReuseSpider(SharedSpider):
    """Fills one dict again and again, in a callback and in an errback."""

    name = "reuse"

    def parse(self, response):
        yield from self.fill(response.url)
        yield Request(response.urljoin("/gone"), self.parse, errback=self.failed)

    def failed(self, failure):
        yield from self.fill(failure.request.url)

    def fill(self, url):
        item = {"url": url}
        for n in range(50):
            item["n"] = n
            yield item
