"""The seen set says what a Python set says, at any size, in few bytes."""

from __future__ import annotations

import random

import pytest

from spiders_project.frontier.dupefilter import FINGERPRINT_BYTES
from tests.conformance.world import RedisWorld, World, put

MINUTE, HOUR = 60_000, 3_600_000


def marks_of(kind: str, count: int) -> list[int]:
    chance = random.Random(20)
    if kind == "random":
        return [chance.getrandbits(64) - 2**63 for _ in range(count)]
    if kind == "sequential":
        return [number - count // 2 for number in range(count)]
    return [number * 2**44 for number in range(-count // 2, count // 2)]  # only the high bits differ


@pytest.mark.parametrize(("kind", "count"), [("random", 120_000), ("sequential", 60_000), ("high", 30_000)])
def test_it_knows_exactly_what_was_put_across_its_growth(redis_world: RedisWorld, kind: str, count: int):
    marks, known = marks_of(kind, count), set()
    chance = random.Random(1)
    worker = redis_world.worker()
    for first in range(0, count, 2000):
        new = marks[first : first + 2000]
        old = chance.sample(marks[: first or 1], min(first, 500))
        batch = [*new, *old]
        chance.shuffle(batch)
        dropped = set(worker.say(*(put("a", mark) for mark in batch)).dropped)
        for index, mark in enumerate(batch):
            assert (index in dropped) == (mark in known), mark
            known.add(mark)
    assert redis_world.facts().seen == len(known)
    look = redis_world.look()
    if kind != "high":  # no fingerprinter makes such marks; they would cost bytes, and stay exact
        assert {encoding for _, encoding in look["buckets"]} == {"intset"}
        assert len(look["buckets"]) > count / 401


def test_no_seen_url_reads_as_new_while_a_bucket_is_split(redis_world: RedisWorld):
    worker = redis_world.worker()
    marks = marks_of("random", 1000)
    for number, mark in enumerate(marks):
        assert worker.say(put("a", mark)).dropped == []
        if 195 < number < 210 or 395 < number < 410 or 595 < number < 605:  # buckets are split about here
            known = [put("a", one) for one in marks[: number + 1]]
            assert len(worker.say(*known).dropped) == number + 1


def bytes_of_the_seen_set(world: RedisWorld) -> int:
    keys = [*world.client.scan_iter(match="site:seen*", count=1000)]
    return sum(int(world.client.memory_usage(key) or 0) for key in keys)


def test_a_small_seen_set_costs_at_most_forty_bytes_a_url(redis_world: RedisWorld):
    # F12: 88 bytes a URL.
    worker = redis_world.worker()
    worker.say(*(put("a", mark) for mark in marks_of("random", 1000)))
    assert bytes_of_the_seen_set(redis_world) / 1000 <= 40


def test_a_large_seen_set_costs_at_most_ten_bytes_a_url(redis_world: RedisWorld):
    marks = marks_of("random", 100_000)
    worker = redis_world.worker()
    for first in range(0, len(marks), 5000):
        worker.say(*(put("a", mark) for mark in marks[first : first + 5000]))
    assert bytes_of_the_seen_set(redis_world) / len(marks) <= 10


@pytest.mark.parametrize(("urls", "at_most"), [(10**6, 1 / 30e6), (10**7, 1 / 300e3), (10**8, 1 / 3e3)])
def test_two_urls_of_one_fingerprint_are_as_rare_as_stated(urls: int, at_most: float):
    pairs = urls * (urls - 1) / 2
    assert pairs / 2 ** (8 * FINGERPRINT_BYTES) <= at_most


# ---------------------------------------------------------------- DUPEFILTER_EXPIRE_SECONDS


@pytest.mark.parametrize("phase", range(0, 60, 7))
def test_a_mark_is_kept_for_its_time_and_at_most_twice_as_long(world: World, phase: int):
    worker = world.worker(expire_ms=HOUR)
    worker.say(put("a", 0))
    world.advance(phase * MINUTE)
    worker.say(put("a", 1))
    known = 0
    while known <= 120 and worker.say(put("a", 1)).dropped:
        known += 1
        world.advance(MINUTE)
        worker.say(put("b", 1000 + known))  # the crawl goes on
    assert 60 <= known <= 120


def test_a_crawl_that_slept_for_long_forgets(world: World):
    worker = world.worker(expire_ms=HOUR)
    worker.say(put("a", 1))
    world.advance(3 * HOUR)
    assert worker.say(put("a", 1)).dropped == []
    assert world.facts().seen == 1


def buckets_of(world: RedisWorld) -> set[bytes]:
    return set(world.client.scan_iter(match="site:seen:*"))


def test_expired_buckets_leave_redis(redis_world: RedisWorld):
    worker = redis_world.worker(expire_ms=HOUR)
    worker.say(*(put("a", mark) for mark in marks_of("random", 3000)))
    old = buckets_of(redis_world)
    assert len(old) > 10
    redis_world.advance(HOUR)
    worker.say(put("a", 1))
    assert old < buckets_of(redis_world), "still looked at"
    redis_world.advance(HOUR)
    worker.say(put("a", 1))
    assert not old & buckets_of(redis_world)


def test_what_was_seen_before_expiry_was_switched_on_is_forgotten_too(redis_world: RedisWorld):
    marks = marks_of("random", 30_000)
    redis_world.worker("before").say(*(put("a", mark) for mark in marks))
    old = buckets_of(redis_world)
    worker = redis_world.worker(expire_ms=HOUR)
    assert worker.say(put("a", marks[0])).dropped == [0]
    redis_world.advance(HOUR)
    assert worker.say(put("a", marks[1])).dropped == [0], "its time has not run out for sure"
    redis_world.advance(HOUR)
    assert worker.say(put("a", marks[0]), put("a", marks[2])).dropped == []
    calls = 1
    while old & buckets_of(redis_world):
        worker.say(put("a", 1000 + calls))
        calls += 1
    assert calls == -(-len(old) // 100), "a bounded number of buckets each call"
    assert redis_world.facts().seen == 1 + calls


def test_a_mark_made_while_expiry_was_on_is_kept_once_it_is_off(redis_world: RedisWorld):
    redis_world.worker("before", expire_ms=HOUR).say(put("a", 1))
    assert {redis_world.client.pttl(key) for key in buckets_of(redis_world)} == {-1}
    worker = redis_world.worker()
    worker.say(put("a", 2))
    redis_world.advance(100 * HOUR)
    assert worker.say(put("a", 1), put("a", 2)).dropped == [0, 1]


def test_without_expiry_no_mark_has_a_term(redis_world: RedisWorld):
    worker = redis_world.worker()
    worker.say(*(put("a", mark) for mark in marks_of("random", 3000)))
    redis_world.advance(10**12)
    assert worker.say(put("a", marks_of("random", 3000)[0])).dropped == [0]
    assert {redis_world.client.pttl(key) for key in redis_world.client.scan_iter(match="site:seen*")} == {-1}


def test_a_seed_is_known_anew_for_its_full_time(world: World):
    worker = world.worker(expire_ms=HOUR)
    worker.say(put("a", 1))
    world.advance(HOUR)
    worker.say(put("a", 1, force=True))
    world.advance(HOUR)
    assert worker.say(put("a", 1)).dropped == [0]


def test_the_seen_set_may_begin_and_cease_to_forget(world: World):
    world.worker("old").say(put("a", 1))
    worker = world.worker(expire_ms=HOUR)
    assert worker.say(put("a", 1), put("a", 2)).dropped == [0]
    world.advance(HOUR)
    assert worker.say(put("a", 1), put("a", 2)).dropped == [0, 1]
    assert world.worker("again").say(put("a", 1), put("a", 2)).dropped == [0, 1]
