"""The crawl's end is a fact about the crawl, decided once; and the page limit is met exactly."""

from spiders_project.frontier.contract import Ack, HostLimits, Left, SeedVerdict
from tests.conformance.world import RedisWorld, World, put

IDLE = 5000


def finish(world: World, *workers) -> None:
    for _ in range(2):
        for worker in workers:
            worker.say()
        world.advance(IDLE)


def test_a_crawl_that_was_empty_long_enough_has_ended(world: World):
    # F4: MAX_IDLE_TIME_BEFORE_CLOSE counted from the last seed.
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    world.advance(10 * IDLE)
    assert worker.say(Ack(claim.request_id)).ended == 0, "the crawl has just become empty"
    world.advance(IDLE - 1)
    assert worker.say().ended == 0
    world.advance(1)
    assert worker.say().ended == 1
    assert world.facts().run["open"] is False


def test_all_workers_hear_of_the_same_end(world: World):
    workers = [world.worker(f"w{number}") for number in range(3)]
    (claim,) = workers[0].say(put("a", 1), want=1).claims
    for worker in workers:
        worker.say()
    workers[0].say(Ack(claim.request_id))
    world.advance(IDLE)
    assert [worker.say().ended for worker in workers] == [1, 1, 1]


def test_a_leased_request_holds_the_run_open(world: World):
    worker, other = world.worker("worker"), world.worker("other")
    worker.say(put("a", 1), want=1)
    for _ in range(5):
        assert other.say().ended == 0
        world.advance(IDLE)


def test_a_queued_request_whose_host_is_paused_holds_the_run_open(world: World):
    worker = world.worker(limits=HostLimits(delay_ms=600_000))
    (claim,) = worker.say(put("a"), put("a"), want=1).claims
    worker.say(Ack(claim.request_id))
    for _ in range(5):
        assert worker.say(want=1).ended == 0
        world.advance(IDLE)


def test_a_delayed_request_holds_the_run_open(world: World):
    worker = world.worker()
    worker.say(put("a", 1, delay_ms=100_000))
    for _ in range(5):
        assert worker.say().ended == 0
        world.advance(IDLE)


def test_a_seed_holds_the_run_open(world: World):
    worker = world.worker()
    world.push_seeds(b"one")
    for _ in range(5):
        assert worker.say().ended == 0
        world.advance(IDLE)
    worker.take(SeedVerdict(b"one", rejected=b"{}"))
    worker.say()
    world.advance(IDLE)
    assert worker.say().ended == 1


def test_a_request_inside_one_worker_holds_the_run_open_until_that_worker_is_gone(world: World):
    worker, other = world.worker("worker"), world.worker("other")
    worker.say(local=1)
    for _ in range(5):
        assert other.say().ended == 0
        world.advance(IDLE)
    worker.leave()
    other.say()
    world.advance(IDLE)
    assert other.say().ended == 1


def test_activity_starts_the_wait_anew(world: World):
    worker = world.worker()
    worker.say()
    world.advance(IDLE - 1)
    (claim,) = worker.say(put("a", 1), want=1).claims
    worker.say(Ack(claim.request_id))
    world.advance(IDLE - 1)
    assert worker.say().ended == 0
    world.advance(1)
    assert worker.say().ended == 1


def test_a_worker_that_joins_is_activity(world: World):
    worker = world.worker()
    worker.say()
    world.advance(IDLE)
    joined = world.worker("joined")
    assert joined.say().ended == 0
    world.advance(IDLE - 1)
    assert worker.say().ended == 0
    world.advance(1)
    assert joined.say().ended == 1


def test_a_new_seed_opens_a_new_run_with_an_id_of_its_own(world: World):
    worker = world.worker()
    first = worker.say(put("a", 1), want=1)
    worker.say(Ack(first.claims[0].request_id, 1))
    world.advance(IDLE)
    ended = worker.say()
    assert (ended.ended, ended.run) == (1, first.run)
    world.push_seeds(b"one")
    later = world.worker("later")
    assert later.say().ended == 1, "an old end is where a later worker begins to count"
    later.take(SeedVerdict(b"one", [put("a", 1, force=True)]))
    second = later.say(want=1)
    assert second.run != first.run
    assert second.ended == 1
    facts = world.facts().run
    assert (facts["open"], facts["pages"], facts["done"]) == (True, 0, 0)


def test_the_end_is_recorded_once_with_its_time_and_reason(redis_world: RedisWorld):
    worker = redis_world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    worker.say(Ack(claim.request_id, 1))
    redis_world.advance(IDLE)
    worker.say()
    ended_at = redis_world.now
    redis_world.advance(IDLE)
    worker.say()
    run = redis_world.client.hgetall(redis_world.keys.run)
    assert (run[b"state"], run[b"reason"], int(run[b"ended_at"])) == (b"finished", b"finished", ended_at)


# ---------------------------------------------------------------- the page limit


def test_the_page_limit_is_met_exactly_by_several_workers(world: World):
    workers = [world.worker(f"w{number}", max_pages=10) for number in range(3)]
    workers[0].say(*(put(f"h{number % 5}", number) for number in range(40)))
    pages = discarded = 0
    held: list = []
    for round_ in range(30):
        for worker in workers:
            held += [(worker, claim) for claim in worker.claim(3)]
        for number, (worker, claim) in enumerate(held):
            page = (number + round_) % 3 > 0  # every third request yields no item
            pages += page
            discarded += worker.say(Left(claim.request_id), Ack(claim.request_id, int(page))).discarded
        held.clear()
    assert pages == 10
    facts = world.facts()
    assert facts.requests == {}
    assert facts.run["pages"] == 10
    assert facts.run["done"] + discarded == 40
    assert facts.run["discarded"] == discarded


def test_puts_after_the_last_page_are_discarded_and_not_marked(world: World):
    worker = world.worker(max_pages=1)
    (claim,) = worker.say(put("a", 1), want=1).claims
    answer = worker.say(Ack(claim.request_id, 1), put("a", 2), put("a", 3, delay_ms=10))
    assert (answer.discarded, answer.open, answer.dropped) == (2, 0, [])
    assert world.facts().seen == 1


def test_waiting_and_delayed_requests_are_discarded_too(world: World):
    worker = world.worker(max_pages=1, limits=HostLimits(delay_ms=60_000))
    (claim,) = worker.say(put("a"), put("a"), put("a", delay_ms=60_000), want=1).claims
    assert worker.say(Ack(claim.request_id, 1)).discarded == 2
    facts = world.facts()
    assert (facts.requests, facts.queues, facts.delayed) == ({}, {}, {})
    assert list(facts.waiting) == ["a"], "the host stays booked"


def test_a_run_that_met_its_page_limit_ends_for_that_reason(redis_world: RedisWorld):
    worker = redis_world.worker(max_pages=1)
    (claim,) = worker.say(put("a"), put("a"), want=1).claims
    worker.say(Ack(claim.request_id, 1))
    redis_world.advance(IDLE)
    worker.say()
    assert redis_world.client.hget(redis_world.keys.run, "reason") == b"max_pages"
    answer = worker.say(put("a", 9), want=1)
    assert len(answer.claims) == 1, "the next run has pages of its own"
    assert answer.discarded == 0


def test_a_large_rest_is_discarded_a_bounded_number_a_call(redis_world: RedisWorld):
    worker = redis_world.worker(max_pages=1)
    (claim,) = worker.say(put("a"), want=1).claims
    worker.say(*(put(f"h{number % 3}") for number in range(2500)))
    assert worker.say(Ack(claim.request_id, 1)).discarded == 1000
    assert worker.say().discarded == 1000
    assert worker.say().discarded == 500
