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
    pages = 0
    held: list = []
    for round_ in range(30):
        for worker in workers:
            held += [(worker, claim) for claim in worker.claim(3)]
        for number, (worker, claim) in enumerate(held):
            page = (number + round_) % 3 > 0  # every third request yields no item
            pages += page
            worker.say(Left(claim.request_id), Ack(claim.request_id, int(page)))
        held.clear()
    assert pages == 10
    facts = world.facts()
    assert facts.run["pages"] == 10
    assert facts.run["done"] + len(facts.requests) == 40


def meet_limit(world: World, **terms):
    """A worker whose run has its one page, with three requests left over."""
    worker = world.worker(max_pages=1, **terms)
    puts = put("a", 1), put("a", 2), put("b", 3, delay_ms=60_000)
    (claim,) = worker.say(*puts, want=1).claims
    worker.say(Ack(claim.request_id, 1), put("a", 4), put("a", 2))
    return worker


def test_what_is_left_over_at_the_page_limit_is_handed_out_no_more_and_the_run_ends(world: World):
    worker = meet_limit(world)
    answer = worker.say(want=9)
    assert (answer.claims, answer.next_ms) == ([], -1), "nobody has to look again soon"
    world.advance(IDLE)
    answer = worker.say(want=9)
    assert (answer.claims, answer.ended, answer.open, answer.next_ms) == ([], 1, 0, -1)
    assert world.facts().run["open"] is False
    assert len(world.facts().requests) == 3


def test_what_is_left_over_is_visited_by_the_next_run(world: World):
    # It was thrown away, and its marks stayed: no run of the namespace ever visited it.
    worker = meet_limit(world)
    world.advance(IDLE)
    worker.say()
    later = world.worker("later")
    assert later.say(want=9).claims == [], "there is no run yet"
    assert later.say(put("c", 9), put("a", 4), want=9).dropped == [1]
    world.advance(60_000)
    claims = [*later.claim(9), *world.facts().leases["later"]]
    assert len(claims) == 4 + 1, "the one claimed last, and all that are leased"
    assert world.facts().run["open"] is True


def test_each_run_has_pages_of_its_own(world: World):
    worker = meet_limit(world)
    for _ in range(2):
        world.advance(IDLE)
        worker.say()
        (claim,) = worker.say(put("c", 100 + world.now % 97), want=9).claims
        worker.say(Ack(claim.request_id, 1))
        assert world.facts().run["pages"] == 1


def test_a_page_under_way_holds_open_a_run_that_has_its_pages(world: World):
    unlimited, limited = world.worker("unlimited"), world.worker("limited", max_pages=1)
    one, two = unlimited.say(put("a", 1), put("a", 2), want=2).claims
    unlimited.say(Ack(one.request_id, 1))
    for _ in range(3):
        assert limited.say(want=9).ended == 0
        world.advance(IDLE)
    unlimited.say(Ack(two.request_id, 1))
    limited.say()
    world.advance(IDLE)
    assert limited.say().ended == 1


def test_seeds_that_come_when_the_run_has_its_pages_are_the_next_runs(world: World):
    worker = meet_limit(world)
    world.push_seeds(b"late")
    assert worker.say().seeds == 0
    world.advance(IDLE)
    assert (worker.say().ended, worker.say().seeds) == (1, 1)
    worker.take(SeedVerdict(b"late", [put("d", 50, force=True)]))
    assert len(worker.claim(1)) == 1


def test_a_worker_with_all_the_pages_under_way_is_not_told_to_look_again_at_once(world: World):
    worker = world.worker(max_pages=1, limits=HostLimits(delay_ms=10))
    worker.say(put("a", 1), put("a", 2), want=1)
    world.advance(1000)
    assert worker.say(want=5).next_ms == -1


def test_a_run_that_met_its_page_limit_ends_for_that_reason(redis_world: RedisWorld):
    worker = meet_limit(redis_world)
    redis_world.advance(IDLE)
    worker.say()
    assert redis_world.client.hget(redis_world.keys.run, "reason") == b"max_pages"
    ((_, record),) = redis_world.client.xrange(redis_world.keys.ended_runs)
    assert (record[b"reason"], record[b"pages"], record[b"left"]) == (b"max_pages", b"1", b"3")
