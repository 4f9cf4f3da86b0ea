"""Scrapy makes no log line for a page or an item that its level would hide."""

from __future__ import annotations

import pytest
from scrapy import Spider
from scrapy.http import Request, Response
from scrapy.utils.test import get_crawler

from spiders_project.logformatter import LogFormatter


@pytest.fixture
def lines():
    """``lines(level)``: those for a page and for an item."""

    def lines(level):
        crawler = get_crawler(settings_dict={"LOG_LEVEL": level}, prevent_warnings=True)
        formatter = LogFormatter.from_crawler(crawler)
        request = Request("http://example.com")
        response = Response(request.url, request=request)
        spider = Spider("test")
        return [formatter.crawled(request, response, spider), formatter.scraped({"n": 1}, response, spider)]

    return lines


@pytest.mark.parametrize("level", ["INFO", "ERROR", 20])
def test_a_hidden_line_is_not_made(lines, level):
    assert lines(level) == [None, None]


@pytest.mark.parametrize("level", ["DEBUG", "NOTSET", 10])
def test_a_line_that_is_read_is_scrapys(lines, level):
    assert [line["msg"][:7] for line in lines(level)] == ["Crawled", "Scraped"]
