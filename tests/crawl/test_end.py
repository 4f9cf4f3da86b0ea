"""I9, F2, F3, F4: "finished" is a fact about the crawl, and closing deletes nothing."""

import signal
import time

import pytest

from tests.crawl.site import Reply
from tests.crawl.waiting import wait_for

pytestmark = pytest.mark.slow


def test_a_worker_without_work_waits_while_another_holds_some_and_both_finish(site, crawl):
    """F3, F4: one slow page is longer under way than MAX_IDLE_TIME_BEFORE_CLOSE."""
    tree = site(4)
    tree.at["/p/0"] = Reply(body=tree._page(0), latency=4)
    run = crawl()
    run.seed(tree.url(0), tree.url(0))  # a duplicate is all that the other worker gets
    first, second = run.start(2)
    wait_for(lambda: len(tree.seen()) >= 2)
    wait_for(lambda: run.stored)
    assert first.running, first.log
    assert second.running, second.log
    run.finish()
    ended = time.monotonic()
    assert ended - max(one.end for one in tree.arrivals) < 1 + 6
    assert set(run.stored) == tree.expected
    assert [worker.said["reason"] for worker in run.workers] == ["finished"] * 2
    assert run.redis.hget(run.keys.run, "state") == b"finished"


def test_new_seeds_open_a_new_run_and_an_old_end_closes_nobody(site, crawl):
    tree = site(6)
    run = crawl()
    run.seed(tree.url(0))
    run.start()
    run.finish()
    first_run = run.redis.hget(run.keys.run, "id")
    assert set(run.stored) == tree.expected
    assert run.redis.hget(run.keys.seen, "count") == b"6", "closing deletes nothing (F2)"

    (late,) = run.start(MAX_IDLE_TIME_BEFORE_CLOSE=3)
    late.wait_log("joins the crawl")
    time.sleep(0.5)
    assert late.running, "an old end is not its end"
    run.seed(tree.url(0))
    late.wait(30)
    assert run.stored.count(tree.url(0)) == 2, "a seed is crawled though it was seen (S5)"
    assert len(run.stored) == tree.pages + 1, "the pages that it links to were seen"
    assert run.redis.hget(run.keys.run, "id") != first_run


def test_start_urls_of_a_spider_are_crawled_once_for_a_run_and_not_once_for_a_worker(site, crawl):
    tree = site(1, latency=0.5)
    run = crawl(spider="own")
    run.start(2, arguments={"own": tree.url(0)})
    run.finish()
    assert run.stored == [tree.url(0)]


def test_without_the_setting_workers_wait_for_seeds(site, crawl):
    tree = site(6)
    run = crawl(settings={"MAX_IDLE_TIME_BEFORE_CLOSE": 0})
    (worker,) = run.start()
    run.seed(tree.url(0))
    wait_for(lambda: run.redis.hget(run.keys.run, "state") == b"finished", 20)
    time.sleep(1)
    assert worker.running
    assert set(run.stored) == tree.expected
    # And is quick when they come: not at Scrapy's next look, which is every 5 s.
    seeded = time.monotonic()
    run.seed(tree.url(3))
    wait_for(lambda: run.stored.count(tree.url(3)) == 2, 5)
    assert time.monotonic() - seeded < 2.5
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0


def test_a_start_that_takes_its_time_is_work_of_the_crawl(site, crawl):
    """I9: idle is who has nothing to do and nothing to come."""
    tree = site(6, latency=0.05)
    run = crawl(spider="slowstart", settings={"DOWNLOAD_DELAY": 0.5})
    run.start(1, arguments={"root": tree.url(0)})
    run.finish()
    assert set(run.stored) == tree.expected


def test_no_limit_of_concurrent_requests_is_taken_as_scrapy_takes_it(site, crawl):
    tree = site(40, hosts=2)
    run = crawl(settings={"CONCURRENT_REQUESTS": 0})
    run.seed(tree.url(0))
    run.start(1)
    run.finish()
    assert set(run.stored) == tree.expected
