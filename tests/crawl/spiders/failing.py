from spiders_project.spider_bases import SharedSpider


class FailingSpider(SharedSpider):
    """Fails where its argument ``where`` says: ``init``, ``open`` or ``callback``; its errors show a password."""

    name = "failing"

    def __init__(self, *args, where="", **kwargs):
        super().__init__(*args, **kwargs)
        if where == "init":
            raise RuntimeError("no login at redis://user:hunter2@example.org")

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        if kwargs.get("where") == "open":
            crawler.settings.set("ITEM_PIPELINES", {"tests.crawl.spiders.failing.ClosedPipeline": 1}, "cmdline")
        return spider

    def parse(self, response):
        raise LookupError(f"nothing in {response.url}")


class ClosedPipeline:
    def open_spider(self):
        raise PermissionError("not in this room")

    def process_item(self, item):
        return item
