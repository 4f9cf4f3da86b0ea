"""A spider with rules, as people write them."""

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule

from spiders_project.items import FeedEntry
from spiders_project.spider_bases import SharedCrawlSpider


class RuledSpider(SharedCrawlSpider):
    name = "ruled"
    rules = (
        Rule(LinkExtractor(allow=r"/category/")),
        Rule(LinkExtractor(allow=r"/product/"), callback="parse_product"),
    )

    def parse_product(self, response):
        yield FeedEntry(id=response.url, feed_url=response.url, url=response.url)
