"""A worker that stops, by a signal or for a while, takes nothing with it."""

import signal
import time

import pytest

from tests.crawl.waiting import wait_for


@pytest.mark.slow
def test_one_sigterm_gives_back_what_was_not_started_and_finishes_the_rest(site, crawl):
    tree = site(60, hosts=2, latency=0.4)
    run = crawl()
    run.seed(tree.url(0))
    # Prefetched requests lie ready beside those under way.
    (worker,) = run.start(CONCURRENT_REQUESTS=8, FRONTIER_PREFETCH=8)
    wait_for(lambda: run.leases >= 14, what="a full buffer")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert worker.said["reason"] == "shutdown"
    assert run.leases == 0, "its requests go back at once, not when the lease has run out"
    under_way = len(tree.seen())
    assert sorted(tree.fetched) == sorted(run.stored), "what was started was finished"
    assert run.redis.hlen(run.keys.requests) > 0

    run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    assert len(tree.seen()) == tree.pages, "nothing was fetched twice"
    assert under_way < tree.pages


@pytest.mark.slow
def test_sigterm_while_requests_wait_at_the_gate_does_not_wait_for_their_hosts(site, crawl):
    tree = site(20, hosts=2, host_of=lambda page: min(page, 1))
    run = crawl()
    run.seed(tree.url(0))
    (worker,) = run.start(DOWNLOAD_DELAY=1.5, DOWNLOAD_DELAY_JITTER=0, ROBOTSTXT_OBEY=True)
    # The second host's robots.txt has come, so its first page waits for the delay.
    wait_for(lambda: [one for one in tree.seen("/robots.txt") if one.host == tree.hosts[1]])
    worker.send(signal.SIGTERM)
    stopped = time.monotonic()
    assert worker.wait() == 0
    assert time.monotonic() - stopped < 1.4
    assert len(run.items) == 1
    assert run.leases == 0
    run.start(DOWNLOAD_DELAY=0)
    run.finish()
    assert set(run.stored) == tree.expected
    assert run.failed == [], "a request that was not started has not failed"
    assert run.dead == []


@pytest.mark.slow
def test_a_worker_that_was_frozen_longer_than_its_lease_does_no_harm(site, crawl):
    tree = site(300, hosts=4, latency=0.05)
    run = crawl()
    run.seed(tree.url(0))
    zombie, other = run.start(2)
    run.wait_stored(40)
    zombie.send(signal.SIGSTOP)
    try:
        other.wait_log("worker(s) died", 15)
    finally:
        zombie.send(signal.SIGCONT)
    zombie.wait_log("Redis does not know what this worker said last")
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == []
    assert run.leases == 0
    assert run.redis.hlen(run.keys.requests) == 0
