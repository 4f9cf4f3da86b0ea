"""Odd requests, and odd entries in Redis, harm nobody else (I8)."""

import pytest

from tests.crawl.site import Reply
from tests.crawl.waiting import wait_for

pytestmark = pytest.mark.slow


def test_requests_that_cannot_be_written_are_crawled_by_this_worker_and_named(site, crawl):
    """F6, F23."""
    tree = site(6, latency=0.1)
    run = crawl(spider="unwritable", settings={"FRONTIER_MAX_REQUEST_BYTES": 2000})
    run.seed(tree.url(0))
    worker, other = run.start(2)
    run.finish()
    assert sorted(run.stored) == sorted(tree.expected)
    said = worker.log + other.log
    assert "<lambda>" in said
    assert "meta['lock'] cannot be written" in said
    assert "cb_kwargs['row'] cannot be written" in said
    assert "more than FRONTIER_MAX_REQUEST_BYTES (2000); meta takes" in said
    assert {worker.said["reason"], other.said["reason"]} == {"finished"}


def test_a_page_is_not_done_before_the_requests_that_only_its_worker_has(site, crawl):
    """F6 and I1: stock scrapy-redis loses them with the worker, and the page that yielded them is gone."""
    tree = site(6, latency=0.5)
    run = crawl(spider="unwritable", settings={"FRONTIER_MAX_REQUEST_BYTES": 2000})
    run.seed(tree.url(0))
    (first,) = run.start()
    run.wait_stored(1)
    first.kill()
    run.start()
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()


def test_a_redirect_of_a_request_that_only_its_worker_has_is_waited_for_too(site, crawl):
    tree = site(3, latency=0.5)
    tree.at["/moved"] = Reply(status=302, headers={"Location": "/p/2"})
    run = crawl(spider="redirected")
    run.seed(tree.url(0))
    (first,) = run.start()
    run.wait_stored(1)
    wait_for(lambda: any(arrival.path == "/p/2" for arrival in tree.arrivals), 20, run.describe)
    first.kill()
    run.start()
    run.finish()
    assert tree.url(2) in run.stored, run.describe()


def test_links_that_cannot_be_queued_stop_no_other_and_are_told(site, crawl):
    tree = site(12)
    run = crawl(spider="badlinks")
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    assert "cannot be queued" in worker.log
    assert {letter["reason"] for letter in run.dead} == {"link"}


def test_an_entry_that_is_no_request_is_set_aside_and_the_others_go_on(site, crawl):
    """F10: garbage, and a callback that no longer exists."""
    tree = site(8)
    run = crawl()
    host = tree.hosts[0]
    for id_, payload in {
        "0000000001": b"\x80\x04\x95cos\nsystem\n",  # a pickle: nothing is unpickled (F8)
        "0000000002": b"\x93\x01\xb1" + b"http://127.0.0.1/" + b"\x81\xa1c\xa4gone",
    }.items():
        run.redis.hset(run.keys.requests, id_, payload)
        run.redis.zadd(run.keys.host(host), {id_: 0})
    run.redis.hset(run.keys.state, "sequence", 2)
    run.redis.zadd(run.keys.ready, {host: 0})
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    assert worker.said["reason"] == "finished"
    letters = [letter for letter in run.dead if letter["reason"] == "undecodable"]
    assert len(letters) == 2
    assert any("callback 'gone' is no method of" in letter["error"] for letter in letters)


def test_identical_requests_stay_apart_and_the_fingerprinter_is_the_crawlers(site, crawl):
    """F9, F11."""
    tree = site(3)
    for n in range(5):
        tree.at[f"/p/2?session={n}"] = Reply(body=b"two")
    run = crawl(
        spider="together",
        settings={"REQUEST_FINGERPRINTER_CLASS": "tests.crawl.spiders.odd.PathFingerprinter"},
    )
    run.seed(tree.url(0))
    (worker,) = run.start(FRONTIER_LOCAL_SEEN=0)
    run.finish()
    assert run.stored.count(tree.url(1)) == 5
    assert len([url for url in run.stored if "/p/2" in url]) == 1
    assert worker.stats["dupefilter/filtered"] == 4


def test_bad_seeds_are_set_aside_and_their_neighbours_crawled(site, crawl):
    """S2, S3, S6 on a live worker; tests/seeds has the schema row by row."""
    tree = site(3)
    bad = [
        b"",
        b"no-scheme",
        b"{broken",
        b"7",
        b"[]",
        b"\xff\xfe",
        b"file:///etc/passwd",
        b'{"url": "http://a/", "x": 1}',
    ]
    run = crawl()
    run.seed(*bad, tree.url(0), b'{"url": "%s", "priority": 5}' % tree.url(1).encode())
    (worker,) = run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    assert run.redis.llen(run.keys.rejected) == len(bad)
    assert worker.stats["seeds/rejected"] == len(bad)
    assert worker.said["reason"] == "finished"
