from scrapy import Request

from spiders_project.spider_bases import SharedSpider


class BusySpider(SharedSpider):
    """Downloads in every way that Scrapy has: by requests, inside its callback, and files in a pipeline.

    ``/p/N`` needs ``/api/N`` and ``/f/N`` of its own host. Links named ``/r/N`` are redirects to other hosts.
    """

    name = "busy"

    async def parse(self, response):
        number = response.url.rpartition("/")[2]
        api = await self.crawler.engine.download_async(Request(response.urljoin(f"/api/{number}")))
        yield {
            "url": response.url,
            "api": api.text,
            "file_urls": [response.urljoin(f"/f/{number}")],
        }
        for link in response.css("a::attr(href)"):
            yield Request(response.urljoin(link.get()), self.parse, errback=self.failed)

    def failed(self, failure):
        yield {"url": failure.request.url, "failed": repr(failure.value)}
