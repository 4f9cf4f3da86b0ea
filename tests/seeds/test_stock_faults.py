"""The faults of scrapy-redis's own seeds: each test fails on the stock part and passes on ours."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import pytest
from scrapy_redis.spiders import RedisSpider

from spiders_project.errors import SeedError
from spiders_project.seeds.request import to_request
from spiders_project.seeds.schema import parse

if TYPE_CHECKING:
    from scrapy import Request


class Site(RedisSpider):
    name = "site"
    redis_encoding = "utf-8"

    def parse(self, response):
        pass


def stock(entry: bytes) -> Request | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Site().make_request_from_data(entry) or None


def ours(entry: bytes) -> Request | None:
    try:
        return to_request(parse(entry), Site())
    except SeedError:
        return None


readers = pytest.mark.parametrize(
    "read", [pytest.param(stock, marks=pytest.mark.xfail(strict=True)), pytest.param(ours)]
)


@readers
@pytest.mark.parametrize("bad", [b"example.com", b'{"url": 1}', b"42", b"[]", b"\xff"])
def test_a_bad_entry_raises_nothing(read, bad):
    """S2."""
    assert read(bad) is None


@readers
@pytest.mark.parametrize(
    ("field", "value", "attribute", "expected"),
    [
        ("headers", {"X-A": "1"}, "headers", {b"X-A": [b"1"]}),
        ("cookies", {"a": "b"}, "cookies", {"a": "b"}),
        ("body", "raw", "body", b"raw"),
        ("priority", 5, "priority", 5),
    ],
)
def test_a_field_of_a_json_seed_is_what_it_says(read, field, value, attribute, expected):
    """S3."""
    request = read(json.dumps({"url": "http://example.com/", "method": "POST", field: value}).encode())
    assert getattr(request, attribute) == expected


@readers
def test_an_existing_query_string_is_kept(read):
    """S3."""
    assert read(b'{"url": "http://example.com/?page=2", "priority": "1"}').url == "http://example.com/?page=2"


@readers
@pytest.mark.parametrize("url", [b"file:///etc/passwd", b"data:text/html,x", b"s3://bucket/key"])
def test_other_schemes_than_http_are_refused(read, url):
    """S6."""
    assert read(url) is None
