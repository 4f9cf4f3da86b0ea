"""The connection is cut after a script ran and before its reply arrives: the caller asks again, nothing is doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis
import redis.asyncio

from spiders_project.errors import FrontierUnavailable
from spiders_project.frontier.connection import translated
from spiders_project.frontier.contract import Ack, Ask, Batch, HostLimits, Left, SeedVerdict
from spiders_project.frontier.redis_frontier import RedisFrontier
from tests.conformance.test_machine import check
from tests.conformance.world import RedisWorld, Worker, put, terms_of
from tests.crawl.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

LIMITS = HostLimits(concurrency=3)


@pytest.fixture
def relay(redis_url: str) -> Iterator[Relay]:
    with Relay(redis_url).serving() as found:
        yield found


@pytest.fixture
def worker(redis_world: RedisWorld, relay: Relay) -> Iterator[Worker]:
    """A worker behind the relay."""
    client = redis.asyncio.Redis.from_url(relay.url, socket_timeout=10)
    frontier = RedisFrontier(client, redis_world.keys, "cut", terms_of({"limits": LIMITS}))
    yield Worker(redis_world, "cut", frontier)
    redis_world.run(client.aclose())


def cut_and_again(world: RedisWorld, relay: Relay, script: str, call: Callable[[], Awaitable[Any]]) -> Any:
    """Make ``call``, whose first reply never arrives, until it is answered."""
    relay.cut_before_reply(script)
    with pytest.raises(FrontierUnavailable):
        world.run(call())  # type: ignore[arg-type]
    assert relay.cuts == 1
    return world.run(call())  # type: ignore[arg-type]


def warm(worker: Worker) -> None:
    """Let Redis know all scripts, so that the one call that is cut is the one that ran."""
    worker.start()
    worker.take()
    worker.book()
    worker.reconcile()
    worker.leave()


def test_an_exchange_is_carried_out_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    (claim,) = worker.say(put("a"), want=1).claims
    batch = Batch(2, [put("a"), put("b"), Ack(claim.request_id, 1)], want=5)
    answer = cut_and_again(redis_world, relay, "exchange", lambda: worker.frontier.exchange(batch))
    assert len(answer.claims) == 2
    facts = redis_world.facts()
    assert len(facts.requests) == 2
    assert facts.run["pages"] == 1
    assert sorted(facts.leases["cut"]) == sorted(claim.request_id for claim in answer.claims)


def test_start_requests_are_put_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    cut_and_again(redis_world, relay, "start", lambda: worker.frontier.start([put("a"), put("b")]))
    assert len(redis_world.facts().requests) == 2


def test_seeds_become_requests_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    redis_world.push_seeds(b"one", b"two")
    verdicts = [SeedVerdict(b"one", [put("a", force=True)]), SeedVerdict(b"two", rejected=b"{}")]
    cut_and_again(redis_world, relay, "seeds", lambda: worker.frontier.take_seeds(verdicts))
    facts = redis_world.facts()
    assert (len(facts.requests), facts.seeds, facts.rejected) == (1, [], [b"{}"])


def test_a_slot_whose_grant_was_cut_off_is_granted_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    asks = [Ask("a", slot=True), Ask("a", slot=True)]
    grants = cut_and_again(redis_world, relay, "book", lambda: worker.frontier.book(asks))
    assert redis_world.facts().active == {"a": 2}
    assert len({grant.slot_id for grant in grants}) == 2
    redis_world.advance(12_000)
    assert worker.reconcile(*(grant.slot_id for grant in grants)) == []
    worker.say(*(Left(grant.slot_id) for grant in grants))
    assert redis_world.facts().active == {}


def test_a_grant_that_comes_again_waits_for_the_same_moment(redis_world: RedisWorld, relay: Relay):
    worker = redis_world.worker(limits=HostLimits(delay_ms=5000))
    ask = Ask("a", slot=True)
    worker.book(Ask("a"))
    assert worker.book(ask)[0].wait_ms == 5020
    redis_world.advance(1000)
    assert worker.book(ask)[0].wait_ms == 4020, "and the host is not booked twice"
    assert worker.book(Ask("a"))[0].wait_ms == 4020 + 5020


def test_reconciling_twice_is_reconciling_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    claims = worker.say(put("a"), put("a"), want=2).claims
    held = [claims[0].request_id, "ffffffffff"]
    assert cut_and_again(redis_world, relay, "reconcile", lambda: worker.frontier.reconcile(held)) == ["ffffffffff"]
    facts = redis_world.facts()
    assert list(facts.leases["cut"]) == held[:1]
    check(facts, redis_world.look(), {"limits": LIMITS})


def test_leaving_twice_is_leaving_once(redis_world: RedisWorld, relay: Relay, worker: Worker):
    warm(worker)
    worker.say(put("a"), put("a"), want=2)
    cut_and_again(redis_world, relay, "leave", worker.frontier.leave)
    facts = redis_world.facts()
    assert (facts.leases, len(facts.queues["a"])) == ({}, 2)


def test_a_heartbeat_reaps_once(redis_world: RedisWorld, relay: Relay):
    dead, judge = redis_world.worker("dead"), redis_world.worker("judge")
    dead.say(put("a", 1), want=1)
    for _ in range(4):
        judge.beat(10_000)
        redis_world.advance(2500)
    with redis.Redis.from_url(relay.url) as client:
        behind = RedisWorld.beat
        direct, redis_world.client = redis_world.client, client
        try:
            client.ping()
            relay.cut_before_reply("heartbeat")
            with pytest.raises(FrontierUnavailable), translated():
                behind(redis_world, judge, 10_000, 3)
            assert behind(redis_world, judge, 10_000, 3) == (0, 0, 0)
        finally:
            redis_world.client = direct
    (claim,) = judge.claim(5)
    assert claim.deliveries == 1
