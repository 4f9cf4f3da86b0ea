"""The item processor tells the pipelines where their item comes from."""

from __future__ import annotations

import asyncio

import pytest
from scrapy.exceptions import DropItem, ScrapyDeprecationWarning
from scrapy.utils.test import get_crawler

from spiders_project.delivery import current_origin, origins_of
from spiders_project.items.processor import DeliveringItemProcessor
from tests.pipelines.deliveries import Settled


class Pipeline:
    def __init__(self):
        self.seen = []

    async def process_item(self, item):
        await asyncio.sleep(0)
        self.seen.append((item, current_origin.get()))
        if item == {"drop": True}:
            raise DropItem
        return item


@pytest.fixture
def crawler():
    return get_crawler(prevent_warnings=True)


def run(crawler, *items):
    pipeline = Pipeline()
    processor = DeliveringItemProcessor(pipeline, crawler=crawler)

    async def process():
        return await asyncio.gather(*(processor.process_item_async(item) for item in items), return_exceptions=True)

    asyncio.run(process())
    assert current_origin.get() is None
    return pipeline.seen


def test_each_item_runs_with_its_own_origin(crawler):
    one, two = Settled().origin("a"), Settled().origin("b")
    first, second = {"n": 1}, {"n": 2}
    origins_of(crawler).register(first, one)
    origins_of(crawler).register(second, two)

    assert run(crawler, first, second) == [(first, one), (second, two)]
    assert len(origins_of(crawler)) == 0


def test_an_item_without_a_request_has_no_origin(crawler):
    assert run(crawler, {"n": 1}) == [({"n": 1}, None)]


def test_a_dropped_item_leaves_no_origin_behind(crawler):
    item = {"drop": True}
    origins_of(crawler).register(item, Settled().origin())

    run(crawler, item)
    assert len(origins_of(crawler)) == 0


def through(crawler, *pipelines):
    processor = DeliveringItemProcessor(*pipelines, crawler=crawler)
    return asyncio.run(processor.process_item_async({"n": 1}))


class Adds:
    """A pipeline whose method is not a coroutine; gives on another item than it got."""

    def __init__(self, name):
        self.name = name

    def process_item(self, item):
        return {**item, self.name: current_origin.get()}


def test_pipelines_run_in_order_whether_or_not_they_are_coroutines(crawler):
    seen = Pipeline()

    assert through(crawler, Adds("first"), seen, Adds("second")) == {"n": 1, "first": None, "second": None}
    assert seen.seen == [({"n": 1, "first": None}, None)]


def test_a_pipeline_that_wants_the_spider_gets_it(crawler):
    class Legacy:
        def process_item(self, item, spider):
            return {**item, "spider": spider}

    crawler.spider = object()
    with pytest.warns(ScrapyDeprecationWarning, match="requires a spider argument"):
        found = through(crawler, Legacy())
    assert found["spider"] is crawler.spider


def test_what_a_pipeline_returns_is_awaited_as_scrapy_does_it(crawler):
    class Future:
        def process_item(self, item):
            future = asyncio.get_running_loop().create_future()
            future.set_result({**item, "late": True})
            return future

    assert through(crawler, Future()) == {"n": 1, "late": True}
