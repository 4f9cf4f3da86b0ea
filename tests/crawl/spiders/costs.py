from spiders_project.spider_bases import SharedSpider


class CostsSpider(SharedSpider):
    """As docs/spiders.md writes it: an item a page, and the links that are worth following."""

    name = "costs"
    allowed_domains = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from self.follow_links(response)
