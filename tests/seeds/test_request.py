"""From a seed to a request of a spider."""

from __future__ import annotations

import pytest
from scrapy import Spider
from scrapy.spiders import CrawlSpider

from spiders_project.errors import SeedError
from spiders_project.seeds.request import callbacks, to_request
from spiders_project.seeds.schema import Seed


class Site(Spider):
    name = "site"
    not_a_method = "x"

    def parse(self, response):
        pass

    def parse_item(self, response, kind="x"):
        pass

    async def parse_later(self, *args):
        pass

    def without_arguments(self):
        pass

    def closed(self, reason):
        pass

    @classmethod
    def update_settings(cls, settings):
        pass

    @staticmethod
    def helper(response):
        pass

    @property
    def parse_property(self):
        raise AssertionError


def test_all_fields_reach_the_request():
    spider = Site()
    request = to_request(
        Seed(
            "http://example.com/?a=1",
            method="POST",
            headers={"X-A": ["1", "2"]},
            body=b"b",
            cookies={"c": "d"},
            meta={"max_depth": 1},
            cb_kwargs={"kind": "y"},
            callback="parse_item",
            priority=3,
        ),
        spider,
    )
    assert request.url == "http://example.com/?a=1"
    assert request.method == "POST"
    assert request.headers.getlist("X-A") == [b"1", b"2"]
    assert request.body == b"b"
    assert request.cookies == {"c": "d"}
    assert request.meta == {"max_depth": 1}
    assert request.cb_kwargs == {"kind": "y"}
    assert request.callback == spider.parse_item
    assert request.priority == 3
    assert request.dont_filter


def test_two_requests_of_one_seed_share_nothing():
    seed = Seed("http://example.com/", meta={"list": [1]})
    to_request(seed, Site()).meta["list"].append(2)
    assert to_request(seed, Site()).meta == {"list": [1]}


def test_no_callback_is_the_spiders_default():
    assert to_request(Seed("http://example.com/"), Site()).callback is None


@pytest.mark.parametrize(
    "name",
    ["nope", "__init__", "closed", "update_settings", "from_crawler", "log", "helper", "not_a_method",
     "without_arguments", "parse_property", "crawler"],
)  # fmt: skip
def test_a_name_that_is_no_callback_is_refused_with_those_that_are(name):
    with pytest.raises(SeedError) as refused:
        to_request(Seed("http://example.com/", callback=name), Site())
    expected = f"spider 'site' has no callback '{name}'; its callbacks are parse, parse_item, parse_later"
    assert str(refused.value) == expected


def test_the_machinery_of_a_crawl_spider_is_no_callback():
    class Links(CrawlSpider):
        name = "links"

        def parse_page(self, response):
            pass

        def parse_start_url(self, response, **kwargs):
            pass

    assert callbacks(Links()) == ["parse_page"]
