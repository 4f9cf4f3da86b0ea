"""Seeds are handed over one by one, each in one step; start requests once for a run."""

import pytest

from spiders_project.frontier.contract import Ack, SeedVerdict
from tests.conformance.world import RedisWorld, World, put


def test_seeds_are_seen_first_and_taken_then(world: World):
    # F16, S4: a batch of seeds was popped before any was safe.
    world.push_seeds(b"one", b"two", b"three")
    worker = world.worker()
    assert worker.say().seeds == 3
    assert worker.peek(2) == [b"one", b"two"]
    assert worker.say().seeds == 3
    assert worker.take(SeedVerdict(b"one", [put("a", 1, name="one", force=True)])) == 1
    answer = worker.say(want=5)
    assert answer.seeds == 2
    assert [claim.payload for claim in answer.claims] == [b"one"]


def test_a_seed_that_another_worker_has_taken_is_skipped(world: World):
    world.push_seeds(b"one")
    verdict = SeedVerdict(b"one", [put("a", 1, force=True)])
    assert world.worker("one").take(verdict) == 1
    assert world.worker("other").take(verdict) == 0
    assert len(world.facts().requests) == 1


def test_the_same_seed_pushed_twice_is_crawled_twice(world: World):
    world.push_seeds(b"one", b"one")
    worker = world.worker()
    verdict = SeedVerdict(b"one", [put("a", 1, force=True)])
    assert worker.take(verdict, verdict, verdict) == 2
    assert world.facts().seen == 1


def test_a_rejected_seed_is_set_aside_and_its_neighbours_go_on(world: World):
    world.push_seeds(b"bad", b"good")
    worker = world.worker()
    verdicts = SeedVerdict(b"bad", rejected=b'{"reason": "r"}'), SeedVerdict(b"good", [put("a", 1, force=True)])
    assert worker.take(*verdicts) == 1
    facts = world.facts()
    assert (facts.seeds, facts.rejected) == ([], [b'{"reason": "r"}'])


def test_a_seed_may_become_several_requests_or_none(world: World):
    world.push_seeds(b"many", b"none")
    worker = world.worker()
    assert worker.take(SeedVerdict(b"many", [put("a", 1), put("b", 2)]), SeedVerdict(b"none")) == 2
    assert world.facts().seeds == []


def test_a_seed_may_limit_the_pages_of_its_run(world: World):
    world.push_seeds(b"one")
    worker = world.worker()
    worker.take(SeedVerdict(b"one", [put("a", 1), put("a", 2), put("a", 3)], max_pages=2))
    assert len(worker.claim(9)) == 2


@pytest.mark.parametrize("kind", ["list", "set", "zset"])
def test_seeds_may_be_a_list_a_set_or_a_sorted_set(redis_world: RedisWorld, kind: str):
    worker, other = (redis_world.worker(name, seeds_kind=kind) for name in ("one", "other"))
    redis_world.push_seeds(b"one", b"two", b"three")
    assert worker.say().seeds == 3
    peeked = worker.peek(2)
    assert len(peeked) == 2
    if kind != "set":
        assert peeked == [b"one", b"two"]
    verdicts = [SeedVerdict(entry, [put("a", force=True)]) for entry in peeked]
    assert worker.take(*verdicts) == 2
    assert other.take(*verdicts) == 0
    assert other.say().seeds == 1


def test_rejected_seeds_are_kept_up_to_a_bound(redis_world: RedisWorld):
    worker = redis_world.worker()
    for first in range(0, 10_100, 1000):
        entries = [f"{number}".encode() for number in range(first, first + 1000)]
        redis_world.push_seeds(*entries)
        worker.take(*(SeedVerdict(entry, rejected=entry) for entry in entries))
    kept = redis_world.facts().rejected
    assert len(kept) == 10_000
    assert kept[-1] == b"10999"


# ---------------------------------------------------------------- start requests


def test_start_requests_are_put_once_for_a_run(world: World):
    workers = [world.worker(f"w{number}") for number in range(3)]
    assert [worker.start(put("a"), put("b")) for worker in workers] == [True, False, False]
    assert len(world.facts().requests) == 2


def test_start_requests_join_a_run_that_seeds_have_opened(world: World):
    world.push_seeds(b"one")
    worker = world.worker()
    worker.take(SeedVerdict(b"one", [put("a", 1)]))
    assert worker.start(put("b"))
    assert not worker.start(put("b"))
    assert len(world.facts().requests) == 2


def test_start_requests_are_put_again_for_the_next_run(world: World):
    worker = world.worker(max_idle_ms=100)
    assert worker.start(put("a"))
    (claim,) = worker.claim()
    worker.say(Ack(claim.request_id))
    world.advance(100)
    assert worker.say().ended == 1
    assert worker.start(put("a"))
    assert len(world.facts().requests) == 1
