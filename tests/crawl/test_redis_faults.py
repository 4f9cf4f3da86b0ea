"""I1, I6: Redis restarts, fails over, loses connections between a script and its reply: nothing is lost."""

import random
import time

import pytest
import redis

from deploy.local.redis_server import RedisServer
from spiders_project.frontier import scripts
from tests.crawl.relay import Relay
from tests.crawl.site import Reply
from tests.crawl.waiting import wait_for


def assert_complete(run, tree):
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == [], run.describe()
    assert run.leases == 0, run.describe()


def crawl_with_restarts(site, crawl, server, *, pages, restarts):
    tree = site(pages, hosts=4, latency=0.02)
    run = crawl(redis_url=server.url)
    run.seed(tree.url(0))
    run.start(2)
    for number in range(1, restarts + 1):
        run.wait_stored(number * pages // (restarts + 2))
        server.process.kill()
        wait_for(lambda: server.process is None)
        server.start()
    run.finish(90)  # before the test's own limit, so that it shows what the workers said last
    assert_complete(run, tree)


@pytest.mark.slow
def test_no_page_is_lost_when_redis_is_killed_and_started_again(site, crawl, own_redis):
    crawl_with_restarts(site, crawl, own_redis, pages=200, restarts=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_no_page_is_lost_over_many_restarts_of_redis(site, crawl, own_redis):
    crawl_with_restarts(site, crawl, own_redis, pages=3000, restarts=10)


@pytest.mark.slow
def test_no_page_is_lost_when_connections_are_cut_at_random_moments(site, crawl, relay, redis_url):
    dice = random.Random(5)
    tree = site(250, hosts=4, latency=0.02)
    run = crawl(redis_url=relay.url, admin_url=redis_url)
    run.seed(tree.url(0))
    run.start(2)
    for _ in range(15):
        run.wait_stored(min(len(run.items) + dice.randint(1, 10), tree.pages))  # a starved test may come too late
        time.sleep(dice.uniform(0, 0.02))
        relay.cut()
    run.finish()
    assert_complete(run, tree)
    assert max(tree.fetched.values()) == 1, "a cut connection is no reason to fetch a page twice"
    assert any("Redis is back" in worker.log for worker in run.workers)


SCRIPTS = ("exchange", "book", "heartbeat", "seeds", "leave", "start")


@pytest.mark.slow
def test_a_reply_that_is_lost_after_its_script_ran_changes_nothing(site, crawl, relay, redis_url):
    tree = site(40, hosts=2, latency=0.01)
    run = crawl(spider="own", redis_url=relay.url, admin_url=redis_url)
    for script in SCRIPTS:
        run.redis.script_load(scripts.source(script))  # the relay knows scripts by their hashes
        relay.cut_before_reply(script, times=3 if script in ("exchange", "book") else 1)
    run.seed(tree.url(1))
    # One connection a host, and robots.txt to be booked: a slot that leaks would stop the host for good.
    run.start(
        arguments={"own": tree.url(0)}, CONCURRENT_REQUESTS_PER_DOMAIN=1, DOWNLOAD_DELAY=0.02, ROBOTSTXT_OBEY=True
    )
    run.finish()
    assert not relay.armed, "every script has lost its reply"
    assert relay.cuts >= len(SCRIPTS)
    assert_complete(run, tree)
    assert max(tree.fetched.values()) == 1
    assert run.redis.hgetall(run.keys.active) == {}


@pytest.fixture
def replica(own_redis, server_directory):
    """A replica of ``own_redis``, with its password."""
    server = RedisServer(server_directory / "replica", name="replica", options={"appendonly": "no"})
    server._state["password"] = own_redis.password
    server._options |= {"masterauth": own_redis.password, "replicaof": f"127.0.0.1 {own_redis.port}"}
    server.start()
    try:
        with redis.Redis.from_url(server.url) as client:
            wait_for(lambda: client.info("replication")["master_link_status"] == "up", what="the replica's link")
        yield server
    finally:
        server.stop()


@pytest.mark.slow
def test_no_page_is_lost_when_a_replica_that_lags_is_promoted(site, crawl, own_redis, replica):
    tree = site(300, hosts=4, latency=0.02)
    with Relay(own_redis.url).serving() as relay:
        run = crawl(redis_url=relay.url, admin_url=replica.url)
        with redis.Redis.from_url(own_redis.url) as master:
            master.rpush(run.keys.start_urls, tree.url(0))
        run.start(2)
        run.wait_stored(60)
        # The replica hears no more; the master goes on for about a second, and with it 50 or more pages.
        run.redis.replicaof("no", "one")
        before = len(run.items)
        run.wait_stored(before + 50)
        own_redis.process.kill()
        relay.point_to(replica.url)
        run.finish(90)
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == []
    assert run.leases == 0
    assert any("Redis does not know what this worker said last" in worker.log for worker in run.workers)


@pytest.mark.slow
def test_a_slot_whose_grant_was_lost_does_not_stop_its_host(site, crawl, relay, redis_url):
    """At one connection a host it is the only one; whoever asks again gets the slot that it has."""
    tree = site(12)
    for number in range(tree.pages):
        tree.at[f"/api/{number}"] = Reply(body=b"more")
        tree.at[f"/f/{number}"] = Reply(body=b"file")
    run = crawl(spider="busy", redis_url=relay.url, admin_url=redis_url)
    for script in SCRIPTS:
        run.redis.script_load(scripts.source(script))
    relay.cut_before_reply("book", times=2)
    run.seed(tree.url(0))
    run.start(CONCURRENT_REQUESTS_PER_DOMAIN=1)
    began = time.monotonic()
    run.finish()
    assert time.monotonic() - began < 30, "not as long as it takes to compare leases"
    assert relay.cuts >= 1
    assert_complete(run, tree)
