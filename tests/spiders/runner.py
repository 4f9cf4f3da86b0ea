"""One crawl in a process of its own, on the in-memory scheduler: JSON on stdin, JSON lines on stdout."""

import dataclasses
import json
import sys

from pydantic import BaseModel
from scrapy import Request, signals
from scrapy.crawler import CrawlerProcess
from scrapy.spiderloader import SpiderLoader


def plain(item):
    data = item.model_dump(mode="json") if isinstance(item, BaseModel) else dataclasses.asdict(item)
    return {"class": type(item).__name__, **data}


def seeded(spider_class, seeds):
    """The spider, with a ``start`` that does what the shared frontier's reader of seeds does."""

    async def start(self):
        for seed in seeds:
            yield Request(seed["url"], meta=seed.get("meta", {}))

    return type(spider_class.__name__, (spider_class,), {"start": start})


def main():
    order = json.load(sys.stdin)
    process = CrawlerProcess({"SPIDER_MODULES": ["spiders_project.spiders"], **order["settings"]})
    spider_class = SpiderLoader.from_settings(process.settings).load(order["spider"])
    crawler = process.create_crawler(seeded(spider_class, order["seeds"]))

    def emit(**line):
        sys.stdout.write(json.dumps(line, default=str) + "\n")

    crawler.signals.connect(lambda item: emit(item=plain(item)), signal=signals.item_scraped, weak=False)
    process.crawl(crawler, **order["arguments"])
    process.start()
    emit(stats=crawler.stats.get_stats())


main()
