"""I6: with Redis away, full or refusing, a worker waits or says what is wrong; it never claims to be finished."""

import signal
import time

import psutil
import pytest
import redis

from deploy.local.redis_server import RedisServer
from spiders_project.frontier.exchange import MOST_UNSAID
from tests.crawl.waiting import wait_for


def crawl_through_outage(site, crawl, relay, redis_url, seconds):
    tree = site(200, hosts=4, latency=0.2)
    run = crawl(redis_url=relay.url, admin_url=redis_url)
    run.seed(tree.url(0))
    (worker,) = run.start(CONCURRENT_REQUESTS=8)
    run.wait_stored(30)
    (run.directory / "gap.reset").touch()
    wait_for(lambda: not (run.directory / "gap.reset").exists())
    relay.refuse()
    away = time.monotonic()
    lines, fetched = worker.log.count("\n"), len(tree.seen())
    # What was claimed is crawled to its end, and then there is nothing to do.
    time.sleep(seconds * 0.5)
    dry, busy = len(tree.seen()), worker.cpu
    time.sleep(seconds * 0.5 - 0.1)
    assert len(tree.seen()) == dry
    assert dry - fetched <= 8 + 8, "no more than was claimed: under way, and in the buffer"
    assert worker.cpu - busy < 0.15 * seconds, "it waits, and does not spin"
    assert worker.log.count("\n") - lines <= 5 + 2 * seconds, worker.log
    relay.accept()
    worker.wait_log("Redis is back after", 10)
    assert time.monotonic() - away < seconds + 5
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
    assert max(tree.fetched.values()) == 1, "what was found meanwhile was kept, and nothing is done twice"
    assert run.dead == []
    return worker


@pytest.mark.slow
def test_a_crawl_goes_on_where_it_was_after_an_outage_of_redis(site, crawl, relay, redis_url):
    worker = crawl_through_outage(site, crawl, relay, redis_url, seconds=3)
    assert worker.said["gap"] < 0.5, "the reactor was blocked"


@pytest.mark.slow
def test_an_endless_start_waits_for_redis_in_bounded_memory(site, crawl, relay, redis_url):
    run = crawl(redis_url=relay.url, admin_url=redis_url, spider="endless")
    (worker,) = run.start(arguments={"port": str(site(1).port)}, DOWNLOAD_DELAY=100)
    wait_for(lambda: run.redis.hlen(run.keys.requests) >= 5000)
    relay.refuse()
    queued = run.redis.hlen(run.keys.requests)
    worker.wait_log("The worker waits and tries again")
    wait_for(lambda: psutil.Process(worker.pid).cpu_percent(1.0) < 20, 30, "the start to be held up")
    grown, memory = yielded(worker), psutil.Process(worker.pid).memory_info().rss
    time.sleep(1)
    assert yielded(worker) == grown
    assert grown <= queued + MOST_UNSAID + 1000
    assert psutil.Process(worker.pid).memory_info().rss < memory + 2**20
    relay.accept()
    wait_for(lambda: yielded(worker) > grown + MOST_UNSAID, 60, "the start to go on")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert run.redis.hlen(run.keys.requests) >= yielded(worker), "all that was yielded is queued"


def yielded(worker):
    return int(worker.log.rsplit("yielded ", 1)[1].split()[0])


@pytest.mark.soak
def test_ten_seconds_without_redis_block_nothing(site, crawl, relay, redis_url):
    worker = crawl_through_outage(site, crawl, relay, redis_url, seconds=10)
    assert worker.said["gap"] < 0.5, "the reactor was blocked"


@pytest.mark.slow
def test_a_worker_without_redis_at_start_waits_and_starts_when_it_comes(site, crawl, relay, redis_url):
    tree = site(10)
    run = crawl(redis_url=relay.url, admin_url=redis_url)
    run.seed(tree.url(0))
    relay.refuse()
    waiting, stopped = run.start(2)
    for worker in (waiting, stopped):
        worker.wait_log("The worker waits and tries again")
    stopped.send(signal.SIGTERM)
    stopped.wait(10)
    assert "Traceback" not in stopped.log, stopped.log
    relay.accept()
    assert waiting.wait() == 0
    assert set(run.stored) == tree.expected


@pytest.mark.slow
def test_a_redis_that_refuses_the_worker_is_named_at_once(crawl, redis_url):
    password = redis_url.split(":")[2].split("@")[0]
    run = crawl()
    (stranger,) = run.start(redis_url=redis_url.replace(password, "wrong"))
    (lost,) = run.start(redis_url=redis_url.removesuffix("/0") + "/999")
    for worker, told in ((stranger, "Check the password"), (lost, "DB index is out of range")):
        assert worker.wait(20) == 1
        assert told in worker.log
        assert "Traceback" not in worker.log, worker.log
        assert password not in worker.log, "a password is a secret"
        assert worker.said["reason"] == "frontier_error"


@pytest.fixture
def small_redis(server_directory):
    server = RedisServer(
        server_directory / "small", options={"maxmemory": "20mb", "maxmemory-policy": "noeviction", "appendonly": "no"}
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.slow
def test_a_redis_that_is_full_is_reported_and_waited_for(site, crawl, small_redis):
    tree = site(120, hosts=2, latency=0.05)
    run = crawl(redis_url=small_redis.url)
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.wait_stored(20)
    with redis.Redis.from_url(small_redis.url) as client:
        client.config_set("maxmemory", "500kb")
        worker.wait_log("Redis takes no calls for now (OutOfMemoryError)")
        time.sleep(1.5)  # longer than MAX_IDLE_TIME_BEFORE_CLOSE: it must not take this for the end
        assert worker.running
        client.config_set("maxmemory", "100mb")
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
    assert worker.said["reason"] == "finished"


@pytest.mark.slow
def test_a_key_of_the_wrong_type_stops_the_worker_with_an_error(site, crawl):
    tree = site(200, hosts=2, latency=0.1)
    run = crawl()
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.wait_stored(5)
    run.redis.set(run.keys.ready, "not a sorted set")
    assert worker.wait(20) == 1
    assert worker.said["reason"] == "frontier_error"
    assert "a key of this crawl holds the wrong type" in worker.log
    assert "Traceback" not in worker.log, worker.log


@pytest.mark.soak
def test_a_worker_that_is_stopped_while_redis_is_away_ends_and_loses_nothing(site, crawl, relay, redis_url):
    tree = site(120, hosts=2, latency=0.2)
    run = crawl(redis_url=relay.url, admin_url=redis_url)
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.wait_stored(20)
    relay.refuse()
    worker.wait_log("The worker waits and tries again")
    worker.send(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert "Closing without a last word to Redis" in worker.log
    relay.accept()
    run.start()
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == []
