"""What tools see of a crawl, and how a crawl is forgotten."""

import json

import pytest

from spiders_project.errors import ConfigError, FrontierError
from spiders_project.frontier import inspect
from spiders_project.frontier.contract import Ack, Ask, Bury, SeedVerdict
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl
from tests.conformance.world import NAMESPACE, RedisWorld, put


@pytest.fixture
def busy(redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch) -> RedisWorld:
    """A crawl that has one of everything."""
    monkeypatch.setattr(inspect, "DEFAULT_LEASE", 2.0**40)  # the test's clock is far from Redis's
    redis_world.push_seeds(b"one", b"two", b"three")
    worker = redis_world.worker()
    worker.beat()
    worker.take(SeedVerdict(b"one", [put("a", 1, force=True)]), SeedVerdict(b"two", rejected=b"{}"))
    claims = worker.say(*(put("a", mark) for mark in range(2, 9)), put("b", 10, delay_ms=1000), want=5).claims
    worker.say(Ack(claims[0].request_id, 1), Bury(claims[1].request_id, b"{}"))
    worker.book(Ask("c", slot=True))
    return redis_world


def test_the_status_counts_each_request_where_it_is(busy: RedisWorld):
    status = crawl_status(busy.client, NAMESPACE)
    assert (status.queued, status.delayed, status.leased, status.dead) == (3, 1, 3, 1)
    assert (status.seeds, status.rejected, status.seen) == (1, 1, 9)
    assert (status.done, status.pages, status.open) == (2, 1, 7)
    assert (status.state, status.finish_reason) == ("open", None)
    (worker,) = status.workers
    assert (worker.id, worker.node, worker.job, worker.version, worker.alive) == ("w", "n", "j", "1", True)


def test_a_crawl_that_never_was_has_a_status(redis_world: RedisWorld):
    status = crawl_status(redis_world.client, "nothing")
    assert (status.state, status.open, status.workers) == ("none", 0, ())


def test_a_worker_with_a_long_lease_is_alive_for_as_long(redis_world: RedisWorld):
    seconds, _ = redis_world.client.time()
    redis_world.advance((seconds - 30) * 1000 - redis_world.now)  # both beat half a minute ago
    for name, report in (("patient", {"lease": 60}), ("usual", {"lease": 15}), ("unknown", {})):
        redis_world.worker(name).beat()
        redis_world.client.hset(redis_world.keys.reports, name, json.dumps(report))
    alive = {worker.id: worker.alive for worker in crawl_status(redis_world.client, NAMESPACE).workers}
    assert alive == {"patient": True, "usual": False, "unknown": False}


def test_a_purge_refuses_while_a_worker_lives(busy: RedisWorld):
    before = busy.facts()
    with pytest.raises(FrontierError, match="stop them before"):
        purge_crawl(busy.client, NAMESPACE)
    assert busy.facts() == before


def test_a_purge_forgets_the_crawl_and_nothing_else(busy: RedisWorld):
    worker = busy.worker()
    worker.leave()
    strangers = ["sit", "site2:requests", "other:site:requests", "sitefoo:start_urls", f"{NAMESPACE}:eu:requests"]
    for key in strangers:
        busy.client.set(key, 1)
    purge_crawl(busy.client, NAMESPACE)
    assert [*busy.client.scan_iter(match=f"{NAMESPACE}:*")] == [f"{NAMESPACE}:eu:requests".encode()]
    assert busy.client.exists(*strangers) == len(strangers)


def test_a_purge_deletes_what_it_is_told_and_nothing_that_a_pattern_would_find(redis_world: RedisWorld):
    keys = {f"{namespace}:requests" for namespace in ("site", "sa", "s.a", "{s}", "{s}x")}
    for key in keys:
        redis_world.client.hset(key, "1", "x")
    for namespace in ("s*", "s[a]", "s?", "site:requests", ""):
        with pytest.raises(ConfigError, match="cannot be the namespace of a crawl"):
            purge_crawl(redis_world.client, namespace)
    for namespace in ("s.a", "{s}"):
        assert purge_crawl(redis_world.client, namespace) == 1
    left = {key.decode() for key in redis_world.client.scan_iter(match="*:requests")}
    assert left == keys - {"s.a:requests", "{s}:requests"}
