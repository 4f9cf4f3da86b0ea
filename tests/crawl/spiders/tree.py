import time

from scrapy import Request

from spiders_project.spider_bases import SharedSpider


class TreeSpider(SharedSpider):
    """Follows every link and stores every page; computes for ``work`` seconds for each, which stops its loop."""

    name = "tree"
    work = 0

    def parse(self, response):
        time.sleep(float(self.work))
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in response.css("a::attr(href)"):
            yield Request(response.urljoin(link.get()), self.parse, errback=self.failed)

    def failed(self, failure):
        yield {"url": failure.request.url, "failed": repr(failure.value)}
