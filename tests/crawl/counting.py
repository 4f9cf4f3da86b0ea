"""Counts, inside a worker, what a page costs: the guard of tests/crawl/test_costs.py."""

from __future__ import annotations

import asyncio

from scrapy import Request, signals

TASKS, REQUESTS = "cost/tasks", "cost/requests"


class Counting:
    """Counts asyncio tasks and ``Request`` objects from the engine's start to the spider's end, as stats."""

    def __init__(self, crawler):
        self.stats = crawler.stats
        crawler.signals.connect(self.engine_started, signals.engine_started)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def engine_started(self):
        asyncio.get_running_loop().set_task_factory(self.task)
        build = Request.__init__

        def counted(request, *args, **kwargs):
            self.stats.inc_value(REQUESTS)
            build(request, *args, **kwargs)

        Request.__init__ = counted

    def task(self, loop, coroutine, **options):
        self.stats.inc_value(TASKS)
        return asyncio.Task(coroutine, loop=loop, **options)
