"""Why a crawl makes no progress, on a real Redis: each likely cause, and the watch that reports a stall."""

from __future__ import annotations

import json
import time

import pytest
import redis

from spiders_project.errors import FrontierUnavailable
from spiders_project.frontier.contract import Ack, HostLimits, Pause, Put, Terms
from spiders_project.frontier.hosts import pause, resume
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.progress import blockers
from spiders_project.frontier.stall import REPEAT, StallWatch
from tests.frontier.peer import Peer, crawl_of, mark_of, put


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client)


@pytest.fixture
def peer(redis_url, crawl):
    return Peer(redis_url, crawl)


def beat(crawl, peer, **report):
    """A heartbeat of ``peer``."""
    crawl.client.zadd(crawl.keys.workers, {peer.name: round(crawl.now() * 1000)})
    crawl.client.hset(crawl.keys.reports, peer.name, json.dumps(report))


def causes(crawl, patience=60.0):
    status = crawl_status(crawl.client, crawl.keys.namespace)
    return {one.cause: one.text for one in blockers(crawl.client, crawl.keys, status, patience)}


def test_a_crawl_without_work_is_not_blocked(crawl):
    assert causes(crawl) == {}


def test_a_crawl_at_work_is_not_blocked(crawl, peer):
    peer.exchange(put("http://a.example/1"), put("http://b.example/1"), want=1)
    beat(crawl, peer)
    assert causes(crawl) == {}


def test_seeds_without_a_worker(crawl, redis_client):
    redis_client.rpush("site:start_urls", "http://a.example/")
    assert causes(crawl) == {"workers": "work waits and no worker is alive"}


def test_a_host_that_an_operator_paused_is_named(crawl, peer):
    peer.exchange(*(put(f"http://{name}.example/") for name in "abcde"))
    beat(crawl, peer)
    pause(crawl, "no-work.example")
    for name in "abcde":
        pause(crawl, f"{name}.example")
    found = causes(crawl)
    assert found.keys() == {"paused"}
    assert "a.example, b.example, c.example and 2 more" in found["paused"]
    assert "scrapy frontier resume" in found["paused"]


def test_the_first_of_all_blocked_hosts_is_named_with_its_time(crawl, peer):
    peer.exchange(put("http://a.example/"), put("http://b.example/"))
    peer.exchange(Pause("a.example", 90_000), Pause("b.example", 60_000), Pause("no-work.example", 30_000))
    beat(crawl, peer)
    assert causes(crawl)["hosts"].startswith("every host is blocked, the first (b.example) until ")
    assert "(in 60 s)" in causes(crawl)["hosts"]
    peer.exchange(put("http://free.example/"))
    assert causes(crawl) == {}


def test_requests_that_all_wait_for_their_time(crawl, peer):
    request = put("http://a.example/")
    peer.exchange(Put(request.payload, request.host, 0, mark_of("x"), delay_ms=60_000))
    beat(crawl, peer)
    assert "the first until" in causes(crawl)["delayed"]


def test_a_worker_that_holds_requests_for_long_or_is_silent_is_named(crawl, peer):
    peer.exchange(put("http://a.example/"), want=1)
    beat(crawl, peer, held_for=73.2)
    assert causes(crawl) == {"leases": f"worker {peer.name} holds 1 requests, the oldest for 73 s"}
    assert causes(crawl, patience=100) == {}
    crawl.client.zadd(crawl.keys.workers, {peer.name: round(crawl.now() * 1000) - 11_000})
    assert "is silent for 11 s" in causes(crawl)["leases"]


def test_a_worker_that_waits_for_mongodb_says_so(crawl, peer):
    peer.exchange(put("http://a.example/"), want=1)
    beat(crawl, peer, held_for=73.2, storing=1)
    assert causes(crawl).keys() == {"storage"}
    assert "waits for MongoDB: 1 crawled requests" in causes(crawl)["storage"]


def test_a_redis_that_takes_no_writes(crawl, peer, redis_client):
    peer.exchange(put("http://a.example/"))
    beat(crawl, peer)
    redis_client.config_set("maxmemory", 1024 * 1024)
    try:
        assert causes(crawl) == {"redis": "Redis takes no writes: it is at its maxmemory of 1 MiB"}
        with pytest.raises(FrontierUnavailable, match="for now"):
            peer.exchange(put("http://a.example/2"))
    finally:
        redis_client.config_set("maxmemory", 0)


def test_a_stall_is_reported_once_and_so_is_its_end(redis_client, redis_url):
    crawl = crawl_of(redis_client, terms=Terms(limits=HostLimits(concurrency=1)))
    peer = Peer(redis_url, crawl)
    watch = StallWatch(redis_client, crawl.keys, patience=0.2)
    assert watch.look() is None
    peer.exchange(put("http://a.example/1"), put("http://a.example/2"))
    pause(crawl, "a.example")
    beat(crawl, peer)
    verdict = _soon(watch)
    assert 0.2 <= verdict.seconds < 2
    assert verdict.causes[0].startswith("paused by an operator: a.example")
    assert watch.look() is None
    resume(crawl, "a.example")
    [claim] = peer.claim()
    assert watch.look() is None  # a claim alone is no progress
    peer.exchange(Ack(claim.request_id))
    again = watch.look()
    assert again is not None
    assert again.causes == ()
    assert again.seconds > 0.2


def test_a_stall_that_goes_on_is_reported_again(crawl, peer):
    peer.exchange(put("http://a.example/1"))
    watch = StallWatch(crawl.client, crawl.keys, patience=0.02)
    first, second = _soon(watch), _soon(watch)
    assert second.seconds - first.seconds >= REPEAT * 0.02 * 0.9
    assert second.causes == ("work waits and no worker is alive",)


def test_a_redis_that_is_away_is_a_cause():
    with redis.Redis(host="127.0.0.1", port=1) as nobody:
        verdict = _soon(StallWatch(nobody, crawl_of(nobody).keys, patience=0.05))
    assert "Redis does not answer" in verdict.causes[0]


def test_an_idle_crawl_is_no_stall(crawl, peer):
    peer.exchange(put("http://a.example/1"))
    [claim] = peer.claim()
    peer.exchange(Ack(claim.request_id))
    watch = StallWatch(crawl.client, crawl.keys, patience=0.0)
    assert [watch.look() for _ in range(3)] == [None, None, None]


def _soon(watch):
    """The next report."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if (verdict := watch.look()) is not None:
            return verdict
        time.sleep(0.01)
    pytest.fail("no report")
