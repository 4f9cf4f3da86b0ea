"""Redis answers, and does not do what was asked: the caller learns which, and nothing is half done."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
import redis.asyncio

from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.contract import Ack, Ask, Batch, SeedVerdict
from spiders_project.frontier.redis_frontier import RedisFrontier
from tests.conformance.test_machine import check
from tests.conformance.world import RedisWorld, put, terms_of

FIXED_KEYS = (
    *("requests", "ready", "waiting", "active", "state", "run", "deliveries", "dead", "local", "workers", "seen"),
    *("delayed", "delayed:places", "leases:w"),
)


@pytest.mark.parametrize("name", FIXED_KEYS)
def test_a_key_of_the_wrong_type_stops_the_script_before_its_first_write(redis_world: RedisWorld, name: str):
    # F14: the worker closed as "finished", exit 0. Here it must be no FrontierUnavailable, which would be waited out.
    worker = redis_world.worker()
    (claim,) = worker.say(put("a", 1), put("b", 2), put("c", 3, delay_ms=9), want=1).claims
    key = f"site:{name}"
    dump = redis_world.client.dump(key)
    redis_world.client.set(key, "oops")
    before = {one: redis_world.client.dump(one) for one in redis_world.client.scan_iter()}
    calls: list[Any] = [
        lambda: worker.say(put("a", 4), Ack(claim.request_id), want=5),
        lambda: worker.start(put("a", 5)),
        lambda: worker.book(Ask("a", slot=True)),
        lambda: worker.take(SeedVerdict(b"x", rejected=b"{}")),
    ]
    for call in calls:
        with pytest.raises(FrontierError, match="wrong type") as caught:
            call()
        assert not isinstance(caught.value, FrontierUnavailable)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        worker.beat()
    assert {one: redis_world.client.dump(one) for one in redis_world.client.scan_iter()} == before
    redis_world.client.delete(key)
    if dump:
        redis_world.client.restore(key, 0, dump)
    assert worker.again().open == 3, "put right again, the same batch is carried out"
    check(redis_world.facts(), redis_world.look(), {})


def test_seeds_of_the_wrong_type_are_told_apart_and_end_nothing(redis_world: RedisWorld):
    # Somebody's sadd for an lpush must not stop the workers (I8), nor let the crawl end without its seeds (I9).
    worker = redis_world.worker()
    terms = terms_of({})
    key = terms.seeds_key
    redis_world.client.sadd(key, "https://example.com/")
    for _ in range(3):
        answer = worker.say(want=1)
        assert (answer.seeds, answer.ended) == (-1, 0)
        redis_world.advance(terms.max_idle_ms + 1)
    redis_world.client.delete(key)
    redis_world.client.rpush(key, "https://example.com/")
    assert worker.say(want=1).seeds == 1


def test_at_maxmemory_the_frontier_is_unavailable_and_nothing_is_half_done(redis_world: RedisWorld):
    worker = redis_world.worker()
    (claim,) = worker.say(put("a", 1), put("b", 2), want=1).claims
    before = redis_world.facts()
    redis_world.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(FrontierUnavailable):
            worker.say(put("a", 3), Ack(claim.request_id), want=5)
        with pytest.raises(FrontierUnavailable):
            worker.start(put("a", 4))
        with pytest.raises(FrontierUnavailable):
            worker.book(Ask("a", slot=True))
    finally:
        redis_world.client.config_set("maxmemory", 0)
    assert redis_world.facts() == before
    assert worker.again().open == 2


def test_acks_that_free_memory_are_taken_at_maxmemory(redis_world: RedisWorld):
    worker = redis_world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    redis_world.client.config_set("maxmemory", 1)
    try:
        assert worker.say(Ack(claim.request_id)).open == 0
    finally:
        redis_world.client.config_set("maxmemory", 0)


def test_a_replica_that_takes_no_writes_is_waited_out(redis_world: RedisWorld):
    worker = redis_world.worker()
    worker.say(put("a", 1))
    redis_world.client.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(FrontierUnavailable):
            worker.say(put("a", 2))
    finally:
        redis_world.client.replicaof("NO", "ONE")
    assert worker.again().open == 2


def test_scripts_are_loaded_again_when_redis_has_forgotten_them(redis_world: RedisWorld):
    worker = redis_world.worker()
    worker.say(put("a", 1))
    redis_world.client.script_flush()
    assert worker.say(put("a", 2)).open == 2


def test_a_user_without_rights_is_told(redis_world: RedisWorld, redis_url: str):
    redis_world.client.acl_setuser("poor", enabled=True, passwords=["+x"], commands=["+ping"], keys=["*"])
    port = urlsplit(redis_url).port
    client = redis.asyncio.Redis(host="127.0.0.1", port=port, username="poor", password="x")
    frontier = RedisFrontier(client, redis_world.keys, "w", terms_of({}))
    try:
        with pytest.raises(FrontierError, match="ACL") as caught:
            redis_world.run(frontier.exchange(Batch(1)))
        assert not isinstance(caught.value, FrontierUnavailable)
    finally:
        redis_world.run(frontier.close())
        redis_world.client.acl_deluser("poor")
