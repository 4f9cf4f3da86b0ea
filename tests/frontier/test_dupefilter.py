import time

import pytest
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from spiders_project.errors import FrontierError
from spiders_project.frontier.dupefilter import FINGERPRINT_BYTES, DupeFilter


@pytest.fixture
def dupefilter():
    return DupeFilter(RequestFingerprinter(), memory=3)


def test_a_request_is_known_once_it_is_remembered(dupefilter):
    request = Request("https://example.com/a?b=1&a=2")
    assert not dupefilter.request_seen(request)
    dupefilter.remember(dupefilter.mark_of(request), request)
    assert dupefilter.request_seen(Request("https://example.com/a?a=2&b=1"))
    assert not dupefilter.request_seen(Request("https://example.com/a?a=2&b=1", method="POST"))


def test_links_to_plain_requests_are_known_by_their_url(dupefilter):
    plain, post = Request("https://example.com/"), Request("https://example.com/form", method="POST", body=b"x")
    for request in (plain, post):
        dupefilter.remember(dupefilter.mark_of(request), request)
    assert "https://example.com/" in dupefilter.known_urls
    assert "https://example.com/form" not in dupefilter.known_urls


def test_memory_is_bounded_and_the_oldest_is_forgotten(dupefilter):
    requests = [Request(f"https://example.com/{number}") for number in range(4)]
    for request in requests:
        dupefilter.remember(dupefilter.mark_of(request), request)
    assert [dupefilter.request_seen(request) for request in requests] == [False, True, True, True]
    assert len(dupefilter.known_urls) == 3
    dupefilter.forget()
    assert not any(dupefilter.request_seen(request) for request in requests)


def test_a_full_memory_costs_no_more_than_one_that_fills():
    """A plain dict that forgets its first key looks at the place of each key that has gone before: 30 times as much."""
    size = 50_000
    dupefilter = DupeFilter(RequestFingerprinter(), memory=size)
    marks = [number.to_bytes(8, "big") for number in range(2 * size)]

    def seconds(some):
        started = time.process_time()
        for mark in some:
            dupefilter.remember(mark)
        return time.process_time() - started

    filling = seconds(marks[:size])
    assert seconds(marks[size:]) < 8 * filling


def test_without_memory_nothing_is_known():
    dupefilter = DupeFilter(RequestFingerprinter(), memory=0)
    request = Request("https://example.com/")
    dupefilter.remember(dupefilter.mark_of(request), request)
    assert not dupefilter.request_seen(request)


def test_what_expires_in_redis_is_not_remembered_longer_here(monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    dupefilter = DupeFilter(RequestFingerprinter(), memory=3, expire=60)
    request = Request("https://example.com/")
    dupefilter.remember(dupefilter.mark_of(request), request)
    assert dupefilter.request_seen(request)
    now += 61
    assert not dupefilter.request_seen(request)
    assert not dupefilter.known_urls


def test_closing_deletes_nothing_and_clearing_is_refused(dupefilter):
    request = Request("https://example.com/")
    dupefilter.remember(dupefilter.mark_of(request))
    dupefilter.close("finished")
    assert dupefilter.request_seen(request)
    with pytest.raises(FrontierError, match="scrapy frontier purge"):
        dupefilter.clear()


class ByHeader:
    def fingerprint(self, request):
        return request.headers.get("X-Key", b"none").ljust(20, b"-")


def test_the_crawlers_own_fingerprinter_is_asked():
    """F11: stock scrapy-redis ignores REQUEST_FINGERPRINTER_CLASS."""
    crawler = get_crawler(settings_dict={"REQUEST_FINGERPRINTER_CLASS": ByHeader})
    crawler.request_fingerprinter = ByHeader()
    dupefilter = DupeFilter.from_crawler(crawler)
    assert dupefilter.mark_of(Request("https://a.example/", headers={"X-Key": "same"})) == b"same----"
    assert dupefilter.mark_of(Request("https://b.example/", headers={"X-Key": "same"})) == b"same----"
    assert len(dupefilter.mark_of(Request("https://c.example/"))) == FINGERPRINT_BYTES
