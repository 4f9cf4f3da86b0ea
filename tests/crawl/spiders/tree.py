from scrapy import Request

from spiders_project.spider_bases import SharedSpider


class TreeSpider(SharedSpider):
    """Follows every link and stores every page."""

    name = "tree"

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in response.css("a::attr(href)"):
            yield Request(response.urljoin(link.get()), self.parse, errback=self.failed)

    def failed(self, failure):
        yield {"url": failure.request.url, "failed": repr(failure.value)}
