import time
from datetime import datetime, timedelta, timezone

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.request import RequestFingerprinter

from spiders_project.config import Options
from spiders_project.errors import CodecError
from spiders_project.frontier.codec import decode
from spiders_project.frontier.dead_letters import host_of as host_of_fields
from spiders_project.frontier.dupefilter import DupeFilter
from spiders_project.frontier.requests import AssignedSlot, RequestCodec


class Demo(Spider):
    name = "demo"

    def parse_page(self, response, number=0):
        yield None

    def failed(self, failure):
        yield None


@pytest.fixture
def codec():
    options = Options.from_settings({"RETRY_BACKOFF_SECONDS": 4.0, "RETRY_BACKOFF_MAX_SECONDS": 10.0})
    return RequestCodec(Demo(), DupeFilter(RequestFingerprinter(), memory=10), options)


def again(codec, request):
    return codec.request_of(codec.put_of(request).payload)


def test_a_request_comes_back_as_it_was(codec):
    spider = codec._spider
    request = Request(
        "https://example.com/a?b",
        callback=spider.parse_page,
        errback=spider.failed,
        method="PUT",
        headers={"Accept": ["a", "b"]},
        body=b"\x00\xff",
        cookies=[{"name": "n", "value": "v", "domain": "d"}],
        meta={"depth": 3, "when": datetime(2026, 1, 1, tzinfo=timezone.utc)},
        cb_kwargs={"number": 7},
        priority=-5,
        dont_filter=True,
        encoding="latin-1",
        flags=["f"],
    )
    assert again(codec, request).to_dict(spider=spider) == request.to_dict(spider=spider)


@pytest.mark.parametrize(
    "request_",
    [FormRequest("https://example.com/", formdata={"a": "b"}), JsonRequest("https://example.com/", data={"a": [1]})],
    ids=["form", "json"],
)
def test_request_classes_survive(codec, request_):
    read = again(codec, request_)
    assert type(read) is type(request_)
    assert (read.body, read.method, read.headers) == (request_.body, request_.method, request_.headers)


def test_the_host_is_the_urls_unless_the_author_set_a_slot(codec):
    assert codec.put_of(Request("https://Example.com:8080/")).host == "example.com"
    assert codec.put_of(Request("https://example.com/", meta={"download_slot": "shared"})).host == "shared"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://EXAMPLE.com/", "example.com"),
        ("http://example.com./", "example.com"),
        ("http://me:secret@example.com:81/", "example.com"),
        ("http://[2001:DB8::1]:8080/", "2001:db8::1"),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("http://127.0.0.1:1/", "127.0.0.1"),
    ],
)
def test_spellings_of_one_host_are_one_host(codec, url, host):
    """Or each would have a queue, and limits, of its own."""
    request = Request(url)
    put = codec.put_of(request)
    assert put.host == host
    assert host_of_fields(decode(put.payload)) == host, "also where a dead letter is queued again"
    request.meta["download_slot"] = AssignedSlot(urlparse_cached(request).hostname)  # as the downloader does
    assert codec.put_of(Request("https://two.example/", meta=request.meta)).host == "two.example"


def test_a_request_that_stays_in_its_worker_waits_as_a_queued_one(codec):
    waits = []
    for _ in range(200):
        request = Request("https://example.com/", lambda _: None, meta={"retry_times": 2})
        waits.append(codec.wait_of(request))
        assert codec.wait_of(request) == 0, "once"
    assert 6 < max(waits) <= 8
    request = Request("https://example.com/", meta={"not_before": time.time() + 60})
    assert 59 < codec.wait_of(request) <= 60
    assert request.meta == {}
    assert codec.wait_of(Request("https://example.com/", meta={"not_before": "soon"})) == 0


def test_the_slot_that_scrapy_wrote_stays_behind_when_meta_is_copied(codec):
    """F25: after a cross-host redirect or meta=response.meta the request kept the first host's slot."""
    first = Request("https://one.example/", meta={"own": 1})
    first.meta["download_slot"] = AssignedSlot("one.example")  # as the downloader does
    put = codec.put_of(Request("https://two.example/", meta=first.meta))
    assert put.host == "two.example"
    assert codec.request_of(put.payload).meta == {"own": 1}


def test_what_is_not_filtered_carries_no_fingerprint_but_a_seed_does(codec):
    request = Request("https://example.com/", dont_filter=True)
    assert codec.put_of(request).fingerprint == b""
    seed = codec.put_of(request, force=True)
    assert len(seed.fingerprint) == 8
    assert seed.force


def test_a_retry_waits_once_however_often_its_meta_is_copied(codec):
    retry = Request("https://example.com/", meta={"retry_times": 2}, dont_filter=True)
    delays = [codec.put_of(retry).delay_ms for _ in range(200)]
    assert 0 <= min(delays) < 2000, "full jitter begins at nothing"
    assert 6000 < max(delays) <= 8000, "4 s doubled once"
    copied = again(codec, retry)
    assert codec.put_of(copied).delay_ms == 0
    third = copied.replace(meta={**copied.meta, "retry_times": 5})
    assert max(codec.put_of(third).delay_ms for _ in range(200)) <= 10_000, "bounded by RETRY_BACKOFF_MAX_SECONDS"


@pytest.mark.parametrize("as_datetime", [False, True])
def test_a_request_may_say_before_when_it_is_not_to_be_crawled(codec, as_datetime):
    when = datetime.now(timezone.utc) + timedelta(seconds=60)
    meta = {"not_before": when if as_datetime else time.time() + 60}
    put = codec.put_of(Request("https://example.com/", meta=meta))
    assert 59_000 < put.delay_ms <= 60_000
    assert codec.request_of(put.payload).meta == {}


def test_a_callback_that_is_gone_is_a_codec_error(codec):
    """F10: stock scrapy-redis loses the request and stalls."""
    put = codec.put_of(Request("https://example.com/", callback=codec._spider.parse_page))
    with pytest.raises(CodecError, match="callback 'parse_gone' is no method of Demo"):
        codec.request_of(put.payload.replace(b"parse_page", b"parse_gone"))


def test_a_payload_that_makes_no_request_is_a_codec_error(codec):
    put = codec.put_of(Request("https://example.com/"))
    with pytest.raises(CodecError, match="no request"):
        codec.request_of(put.payload.replace(b"https://example.com/", b"https_//example.com/"))


@pytest.mark.parametrize(
    "meta", [{"not_before": "2026-01-01"}, {"not_before": float("nan")}, {"retry_times": "1"}], ids=str
)
def test_a_malformed_wish_is_a_codec_error(codec, meta):
    with pytest.raises(CodecError, match=next(iter(meta))):
        codec.put_of(Request("https://example.com/", meta=meta))


@pytest.mark.parametrize(("slot", "host"), [(7, "7"), (("a", 1), "('a', 1)"), ("", "example.com")])
def test_a_slot_of_any_type_is_a_host(codec, slot, host):
    assert codec.put_of(Request("https://example.com/", meta={"download_slot": slot})).host == host
