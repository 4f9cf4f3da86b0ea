"""What a worker has claimed is its own while it lives, and returns when it is dead."""

from itertools import pairwise

from spiders_project.frontier.contract import Ack, Ask, Bury, GiveBack, HostLimits, Left, Refuse
from tests.conformance.world import RedisWorld, Worker, World, put

PATIENCE = 10_000


def let_die(world: World, *dead: Worker, judge: Worker, max_deliveries: int = 3) -> tuple[int, int, int]:
    """``dead`` fall silent while ``judge`` beats on; what the judge did in the end."""
    for worker in dead:
        worker.beat()
    for _ in range(4):
        judge.beat(PATIENCE, max_deliveries)
        world.advance(PATIENCE // 4)
    return judge.beat(PATIENCE, max_deliveries)


def test_nobody_gets_a_request_whose_worker_lives_however_long_it_takes(world: World):
    worker, other = world.worker("worker"), world.worker("other")
    worker.say(put("a", 1), want=1)
    for _ in range(100):
        worker.beat(PATIENCE)
        other.beat(PATIENCE)
        assert other.claim(5) == []
        world.advance(PATIENCE // 4)


def test_the_leases_of_a_dead_worker_return_to_their_old_place(world: World):
    # F1: kill -9 lost what was popped.
    dead, other = world.worker("dead"), world.worker("other")
    dead.say(*(put("a", number, name=str(number)) for number in range(4)))
    assert dead.names(2) == ["0", "1"]
    assert let_die(world, dead, judge=other) == (2, 0, 1)
    claims = other.claim(9)
    assert [claim.payload for claim in claims] == [b"0", b"1", b"2", b"3"]
    assert [claim.deliveries for claim in claims] == [1, 1, 0, 0]
    assert list(world.facts().workers) == ["other"]


def test_the_slots_of_a_dead_worker_are_free_again(world: World):
    limits = HostLimits(concurrency=2)
    dead, other = world.worker("dead", limits=limits), world.worker("other", limits=limits)
    (claim,) = dead.say(put("a"), put("a"), put("a"), want=1).claims
    (grant,) = dead.book(Ask("a", slot=True))
    assert grant.granted
    dead.say(Left(claim.request_id))  # its download has ended, its ack never comes
    let_die(world, dead, judge=other)
    assert world.facts().active == {}
    assert len(other.claim(9)) == 2


def test_a_worker_that_dies_before_its_first_heartbeat_is_found(world: World):
    dead, other = world.worker("dead"), world.worker("other")
    assert len(dead.say(put("a", 1), want=1).claims) == 1
    for _ in range(4):
        other.beat(PATIENCE)
        world.advance(PATIENCE // 4)
    assert other.beat(PATIENCE) == (1, 0, 1)


def test_a_worker_with_a_slot_alone_that_dies_before_its_first_heartbeat_is_found(world: World):
    dead, other = world.worker("dead"), world.worker("other")
    dead.book(Ask("a", slot=True))
    for _ in range(4):
        other.beat(PATIENCE)
        world.advance(PATIENCE // 4)
    assert other.beat(PATIENCE)[2] == 1
    assert world.facts().active == {}


def test_a_request_that_killed_its_workers_becomes_a_dead_letter(world: World):
    judge = world.worker("judge")
    judge.say(put("a", 1, name="killer"))
    for number in range(2):
        worker = world.worker(f"w{number}")
        (claim,) = worker.claim()
        assert claim.deliveries == number
        assert let_die(world, worker, judge=judge) == (1, 0, 1)
    worker = world.worker("last")
    worker.claim()
    assert let_die(world, worker, judge=judge) == (0, 1, 1)
    facts = world.facts()
    assert facts.dead == {claim.request_id}
    assert facts.requests == {}
    assert (facts.run["done"], facts.run["errors"], facts.leased, facts.active) == (1, 1, 0, {})


def test_deliveries_start_anew_with_a_new_request(world: World):
    judge, worker = world.worker("judge"), world.worker("worker")
    worker.say(put("a", 1), want=1)
    let_die(world, worker, judge=judge)
    (claim,) = judge.claim()
    judge.say(Ack(claim.request_id), put("a", 1, force=True))
    assert judge.claim()[0].deliveries == 0


def test_what_a_zombie_says_is_refused_and_changes_nothing(world: World):
    zombie, other = world.worker("zombie"), world.worker("other")
    (claim,) = zombie.say(put("a", 1), want=1).claims
    let_die(world, zombie, judge=other)
    (again,) = other.claim()
    assert again.request_id == claim.request_id
    answer = zombie.say(put("b", 2), Ack(claim.request_id, 1), want=5)
    assert answer.lost
    assert answer.claims == []
    assert answer.open == 1
    assert zombie.say(Ack(claim.request_id, 1), Left(claim.request_id), Bury(claim.request_id, b"{}")).open == 1
    assert zombie.reconcile(claim.request_id) == [claim.request_id]
    assert world.facts().leases["other"] == {claim.request_id: (0, True, "a")}


def test_a_zombie_goes_on_and_is_watched_again(world: World):
    zombie, other = world.worker("zombie"), world.worker("other")
    zombie.say(put("a", 1), put("a", 2), want=1)
    let_die(world, zombie, judge=other)
    assert zombie.say().lost
    assert len(zombie.claim(1)) == 1
    assert "zombie" in world.facts().workers
    assert let_die(world, zombie, judge=other) == (1, 0, 1)


def test_nobody_is_judged_by_a_worker_that_was_silent_itself(world: World):
    worker, judge = world.worker("worker"), world.worker("judge")
    worker.say(put("a", 1), want=1)
    worker.beat()
    judge.beat()
    world.advance(60_000)  # Redis stood still: everybody is late
    assert judge.beat(PATIENCE) == (0, 0, 0)
    assert worker.beat(PATIENCE) == (0, 0, 0)


def test_nobody_is_judged_by_a_worker_that_has_just_come(world: World):
    worker, judge = world.worker("worker"), world.worker("judge")
    worker.say(put("a", 1), want=1)
    world.advance(60_000)
    assert judge.beat(PATIENCE) == (0, 0, 0)


def test_many_leases_return_a_bounded_number_a_call(redis_world: RedisWorld):
    dead, other = redis_world.worker("dead"), redis_world.worker("other")
    dead.say(*(put("a", number) for number in range(1200)), want=1200)
    assert let_die(redis_world, dead, judge=other) == (500, 0, 0)
    redis_world.advance(2000)
    assert other.beat(PATIENCE) == (500, 0, 0)
    redis_world.advance(2000)
    assert other.beat(PATIENCE) == (200, 0, 1)
    assert len(other.claim(2000)) == 1200


# ---------------------------------------------------------------- going, and looking after the leases


def test_a_worker_that_leaves_gives_back_what_it_holds(world: World):
    # F2: the first worker that closed deleted what the others needed.
    worker, other = world.worker("worker", limits=HostLimits(concurrency=2)), world.worker("other")
    worker.beat()
    worker.say(*(put("a", number, name=str(number)) for number in range(3)), want=2)
    worker.book(Ask("b", slot=True))
    worker.leave()
    worker.leave()
    facts = world.facts()
    assert (facts.leases, facts.leased, facts.active, facts.workers) == ({}, 0, {}, {})
    assert len(facts.requests) == facts.seen == 3
    claims = other.claim(9)
    assert [claim.payload for claim in claims] == [b"0", b"1", b"2"]
    assert {claim.deliveries for claim in claims} == {0}, "a clean stop is no death"


def test_a_second_worker_that_only_knows_duplicates_changes_nothing(world: World):
    # F3: it closed at once, and deleted the seen set under the first.
    first, second = world.worker("first"), world.worker("second")
    first.say(put("a", 1), put("a", 2), want=1)
    second.say(put("a", 1), put("a", 2))
    before = world.facts()
    second.leave()
    assert world.facts() == before


def test_claims_that_never_arrived_go_back(world: World):
    worker = world.worker()
    one, two, three = worker.say(put("a"), put("a"), put("a"), want=3).claims
    assert worker.reconcile(one.request_id, three.request_id) == []
    assert list(world.facts().leases["w"]) == [one.request_id, three.request_id]
    assert [claim.request_id for claim in worker.claim(3)] == [two.request_id]


def test_slots_whose_grant_never_arrived_are_free_again(world: World):
    worker = world.worker(limits=HostLimits(concurrency=1))
    worker.book(Ask("a", slot=True))  # the reply is lost
    world.advance(11_999)
    worker.reconcile()
    assert not worker.book(Ask("a", slot=True))[0].granted, "the grant may still be on its way"
    world.advance(1)
    worker.reconcile()
    (grant,) = worker.book(Ask("a", slot=True))
    assert grant.granted
    assert worker.reconcile(grant.slot_id) == []
    assert world.facts().active == {"a": 1}


def test_reconciling_names_what_is_leased_no_more(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a"), want=1).claims
    assert worker.reconcile("0123456789", claim.request_id) == ["0123456789"]


# ---------------------------------------------------------------- requests that a version cannot read


def test_a_refused_request_waits_for_a_worker_of_another_version(world: World):
    # F10: an entry that cannot be read was lost, and stalled the worker.
    old, new = world.worker("old", version="1"), world.worker("new", version="2")
    old.beat()
    new.beat()
    (claim,) = old.say(put("a", 1, name="new form"), put("a", 2), want=1).claims
    assert old.say(Refuse(claim.request_id, b"{}", "1")).open == 2
    assert len(old.claim(9)) == 1, "its neighbours go on"
    world.advance(1000)
    assert new.names(9) == ["new form"]
    assert world.facts().dead == set()


def test_a_refused_request_becomes_a_dead_letter_when_there_is_no_other_version(world: World):
    one, other = world.worker("one", version="1"), world.worker("other", version="1")
    one.beat()
    other.beat()
    (claim,) = one.say(put("a", 1), want=1).claims
    assert one.say(Refuse(claim.request_id, b"{}", "1")).open == 0
    assert world.facts().dead == {claim.request_id}


def test_a_request_that_every_version_has_refused_becomes_a_dead_letter(world: World):
    # Two versions handed it to each other each second, for ever.
    old, new = world.worker("old", version="1"), world.worker("new", version="2")
    old.beat()
    new.beat()
    old.say(put("a", 1))
    for worker in (old, old, new):
        (claim,) = worker.say(want=1).claims
        assert world.facts().dead == set()
        worker.say(Refuse(claim.request_id, worker.version.encode(), worker.version))
        world.advance(1000)
    assert world.facts().dead == {claim.request_id}
    assert world.facts().requests == {}


def test_a_version_that_comes_later_is_asked_too(world: World):
    versions = [world.worker(f"w{number}", version=str(number)) for number in range(4)]
    versions[0].say(put("a", 1, name="of the future"))
    versions[0].beat()
    for worker, later in pairwise(versions):
        later.beat()
        (claim,) = worker.claim()
        assert worker.say(Refuse(claim.request_id, b"{}", worker.version)).open == 1
        world.advance(1000)
    assert versions[-1].names() == ["of the future"]


def test_a_refusal_of_what_is_not_leased_changes_nothing(world: World):
    one, other = world.worker("one", version="1"), world.worker("other", version="2")
    one.beat()
    other.beat()
    (claim,) = one.say(put("a", 1), want=1).claims
    other.say(Refuse(claim.request_id, b"{}", "2"))
    assert claim.request_id in world.facts().leases["one"]


def test_given_back_twice_is_queued_once(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a"), want=1).claims
    worker.say(GiveBack(claim.request_id), GiveBack(claim.request_id))
    assert len(worker.claim(5)) == 1
