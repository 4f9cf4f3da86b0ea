"""The heartbeat's own rules: when it judges others, and what it outlives."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import redis

from spiders_project.frontier.heartbeat import Heartbeat
from spiders_project.keys import FLEET_ENDING
from tests.conformance.world import RedisWorld, Worker, put, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LEASE = 15.0
BEAT = LEASE / 6


class Beats:
    """A heartbeat whose thread does not run: beats are made by hand, at times of the test's choosing."""

    def __init__(self, world: RedisWorld, worker: Worker) -> None:
        self.world, self.worker = world, worker
        self.reaped: list[tuple[int, int, int]] = []
        self.client = redis.Redis.from_url(world.url)
        self.heartbeat = Heartbeat(
            self.client,
            world.keys,
            worker.name,
            terms_of({}),
            lease_seconds=LEASE,
            max_deliveries=3,
            report=lambda: worker.report,
            on_reaped=lambda *counts: self.reaped.append(counts),
        )

    def beat(self) -> None:
        self.heartbeat._beat(self.world.now / 1000)


@pytest.fixture
def beats(redis_world: RedisWorld) -> Iterator[Beats]:
    found = Beats(redis_world, redis_world.worker("judge"))
    yield found
    found.client.close()


def die(world: RedisWorld) -> None:
    dead = world.worker("dead")
    dead.say(put("a", 1), want=1)
    dead.beat()


def test_a_dead_worker_is_found_within_its_lease(beats: Beats, redis_world: RedisWorld):
    for _ in range(7):
        beats.beat()
        redis_world.advance(round(BEAT * 1000))
    die(redis_world)
    died = redis_world.now
    while not beats.reaped and redis_world.now - died < LEASE * 1000:
        redis_world.advance(round(BEAT * 1000))
        beats.beat()
    assert beats.reaped == [(1, 0, 1)]


def test_nobody_is_judged_before_an_unbroken_lease_period(beats: Beats, redis_world: RedisWorld):
    die(redis_world)
    redis_world.advance(60_000)
    started = redis_world.now
    while not beats.reaped and redis_world.now - started < 2 * LEASE * 1000:
        beats.beat()
        redis_world.advance(round(BEAT * 1000))
    assert beats.reaped == [(1, 0, 1)]
    assert redis_world.now - started > LEASE * 1000


def test_after_an_outage_the_wait_begins_anew(beats: Beats, redis_world: RedisWorld):
    for _ in range(7):
        beats.beat()
        redis_world.advance(round(BEAT * 1000))
    live = redis_world.worker("live")
    live.say(put("a", 1), want=1)
    live.beat()
    redis_world.advance(60_000)  # Redis was away: nobody could beat
    for _ in range(6):
        beats.beat()
        assert beats.reaped == []
        redis_world.advance(round(BEAT * 1000))
        live.beat()
    beats.beat()
    assert beats.reaped == []


def test_the_wait_begins_anew_when_a_beat_itself_took_long(beats: Beats, redis_world: RedisWorld):
    for _ in range(7):
        beats.beat()
        redis_world.advance(round(BEAT * 1000))
    live = redis_world.worker("live")
    live.say(put("a", 1), want=1)
    live.beat()
    asked_at = redis_world.now / 1000 + BEAT
    redis_world.advance(12_500)  # the server stood still while the beat was under way
    beats.heartbeat._beat(asked_at)
    assert beats.reaped == []
    assert live.beat(10_000) == (0, 0, 0)


def test_the_thread_beats_by_itself_and_survives_redis_and_its_own_callbacks(redis_world: RedisWorld):
    calls: list[str] = []
    both = threading.Event()

    def report() -> bytes:
        calls.append("report")
        if len(calls) > 3:
            both.set()
        if len(calls) == 2:
            raise RuntimeError("a bug")
        if len(calls) == 3:
            redis_world.client.client_kill_filter(_type="normal", skipme=True)
        return b"{}"

    client = redis.Redis.from_url(redis_world.url)
    heartbeat = Heartbeat(
        client,
        redis_world.keys,
        "w",
        terms_of({}),
        lease_seconds=0.3,
        max_deliveries=3,
        report=report,
        on_reaped=lambda *_: None,
    )
    heartbeat.start()
    assert both.wait(30)
    heartbeat.stop(10)
    heartbeat.stop(10)
    assert "w" in redis_world.facts().workers


def test_a_job_is_told_once_to_end_and_what_it_may_not_read_harms_no_beat(redis_world: RedisWorld):
    told: list[str] = []
    heartbeat = Heartbeat(
        redis_world.client,
        redis_world.keys,
        "w",
        terms_of({}),
        lease_seconds=LEASE,
        max_deliveries=3,
        report=lambda: b"{}",
        on_reaped=lambda *_: None,
        job="j",
        on_told_to_end=lambda: told.append("j"),
    )
    redis_world.client.set(FLEET_ENDING, "no hash")
    heartbeat._beat(0)
    redis_world.client.delete(FLEET_ENDING)
    redis_world.client.hset(FLEET_ENDING, "another", "stopped")
    heartbeat._beat(1)
    assert told == []
    assert "w" in redis_world.facts().workers
    redis_world.client.hset(FLEET_ENDING, "j", "stopped")
    heartbeat._beat(2)
    heartbeat._beat(3)
    assert told == ["j"]
    redis_world.client.delete(FLEET_ENDING)


def test_reports_of_workers_that_are_gone_do_not_pile_up(beats: Beats, redis_world: RedisWorld):
    living = redis_world.worker("living")
    living.beat()
    beats.client.hset(redis_world.keys.reports, mapping={f"gone-{number}": "{}" for number in range(150)})
    beats.beat()
    assert beats.client.hlen(redis_world.keys.reports) == 152, "a few are kept for tools"
    beats.client.hset(redis_world.keys.reports, mapping={f"gone-{number}": "{}" for number in range(250)})
    beats.beat()
    assert {name.decode() for name in beats.client.hkeys(redis_world.keys.reports)} == {"judge", "living"}
