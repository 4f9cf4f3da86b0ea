import asyncio

import pytest
from pydispatch.dispatcher import getAllReceivers
from scrapy import Request, signals
from scrapy.utils.test import get_crawler
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider

from spiders_project.errors import ConfigError
from spiders_project.spider_bases import SharedCrawlSpider, SharedSpider

BASES = pytest.mark.parametrize("base", [SharedSpider, SharedCrawlSpider])
NO_REDIS = {"REDIS_URL": "redis://127.0.0.1:1/0"}


def build(base, settings=None, attributes=None, **arguments):
    spider_class = type("Shop", (base,), {"name": "shop", **(attributes or {})})
    return spider_class.from_crawler(get_crawler(spider_class, {**NO_REDIS, **(settings or {})}), **arguments)


def requests_of(spider):
    async def collect():
        return [request async for request in spider.start()]

    return asyncio.run(collect())


@BASES
def test_the_bases_are_scrapy_redis_spiders(base):
    assert issubclass(base, RedisSpider if base is SharedSpider else RedisCrawlSpider)


@BASES
def test_building_a_spider_connects_to_nothing_and_listens_to_no_idle_signal(base):
    spider = build(base)
    assert spider.server is None
    assert not list(getAllReceivers(spider.crawler, signals.spider_idle))


@BASES
def test_start_yields_nothing_so_that_workers_do_not_each_request_the_start_urls(base):
    spider = build(base, attributes={"start_urls": ["http://example.org/"]})
    assert requests_of(spider) == []
    assert spider.start_urls == ["http://example.org/"]


@BASES
def test_a_start_of_the_authors_own_works_as_in_scrapy(base):
    async def start(self):
        yield Request("http://example.org/own")

    assert [request.url for request in requests_of(build(base, attributes={"start": start}))] == [
        "http://example.org/own"
    ]


@BASES
def test_start_requests_which_scrapy_no_longer_calls_is_refused_at_start(base):
    with pytest.raises(ConfigError, match=r"Shop defines start_requests.*write `async def start\(self\)`"):
        build(base, attributes={"start_requests": lambda self: []})


@BASES
def test_what_scrapyd_passes_and_unknown_arguments_become_attributes(base):
    spider = build(base, _job="9f", _version="r1", colour="blue")
    assert (spider._job, spider._version, spider.colour) == ("9f", "r1", "blue")


@BASES
def test_arguments_arrive_as_strings_and_are_converted(base):
    spider = build(base, max_pages="20", allowed_domains="a.org, b.org", start_urls="http://a.org/ http://b.org/")
    assert spider.max_pages == 20
    assert spider.allowed_domains == ["a.org", "b.org"]
    assert spider.start_urls == ["http://a.org/", "http://b.org/"]


@BASES
@pytest.mark.parametrize("value", ["abc", "0", "-1", "", "1.5"])
def test_a_malformed_argument_is_refused_by_name(base, value):
    with pytest.raises(ConfigError, match=f"spider argument max_pages='{value}' is refused"):
        build(base, max_pages=value)


@BASES
def test_a_class_keeps_its_own_limit_when_no_argument_is_given(base):
    assert build(base, attributes={"max_pages": 7}).max_pages == 7
    assert build(base).max_pages is None


@BASES
def test_redis_key_is_none_by_default_and_knows_the_name(base):
    assert build(base).redis_key is None
    assert build(base, attributes={"redis_key": "seeds:%(name)s"}).redis_key == "seeds:shop"
    with pytest.raises(ConfigError, match="redis_key of spider shop is empty"):
        build(base, attributes={"redis_key": " "})


@BASES
def test_an_override_of_make_request_from_data_is_recognised_and_the_default_is_not_one(base):
    def make_request_from_data(self, data):
        return Request(data.decode())

    assert not build(base).reads_own_seeds
    spider = build(base, attributes={"make_request_from_data": make_request_from_data})
    assert spider.reads_own_seeds
    assert spider.make_request_from_data(b"http://example.org/").url == "http://example.org/"


@BASES
def test_the_default_of_make_request_from_data_can_be_called_by_an_override(base):
    assert build(base).make_request_from_data(b'{"url": "http://example.org/"}').url == "http://example.org/"
