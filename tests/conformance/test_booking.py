"""Downloads that start late, or were never claimed, book their host; nobody comes too early."""

from spiders_project.frontier.contract import Ask, HostLimits, Left, Pause
from tests.conformance.world import World, put

SLOW = HostLimits(delay_ms=1000)


def test_a_late_start_goes_at_once_when_nobody_has_booked_the_host_since(world: World):
    worker = world.worker(limits=SLOW)
    (claim,) = worker.say(put("a"), put("a"), want=2).claims
    world.advance(500)
    (grant,) = worker.book(Ask("a", booking=claim.booking))
    assert (grant.granted, grant.wait_ms) == (True, 0)
    world.advance(1019)
    assert worker.claim(2) == [], "the booking moved with the start"
    world.advance(1)
    assert len(worker.claim(2)) == 1


def test_a_late_start_waits_behind_whoever_has_booked_the_host_since(world: World):
    worker = world.worker(limits=SLOW)
    (late,) = worker.say(put("a"), put("a"), want=2).claims
    world.advance(1100)
    assert len(worker.claim(2)) == 1
    (grant,) = worker.book(Ask("a", booking=late.booking))
    assert (grant.granted, grant.wait_ms) == (True, 1020)
    (next_,) = worker.book(Ask("a", booking=late.booking))
    assert next_.wait_ms == 2040


def test_a_very_late_start_on_a_free_host_goes_at_once(world: World):
    worker = world.worker(limits=SLOW)
    (claim,) = worker.say(put("a"), want=1).claims
    world.advance(60_000)
    assert worker.book(Ask("a", booking=claim.booking))[0].wait_ms == 0


def test_downloads_that_were_never_claimed_are_spaced_too(world: World):
    # F26: six requests behind a slow robots.txt arrived within 0.02 s.
    worker = world.worker(limits=SLOW)
    grants = worker.book(*[Ask("a")] * 4)
    assert [grant.wait_ms for grant in grants] == [0, 1020, 2040, 3060]
    worker.say(put("a"))
    assert worker.claim() == []
    world.advance(4080)
    assert len(worker.claim()) == 1


def test_a_slot_is_granted_up_to_the_limit_and_counts_for_claims(world: World):
    worker = world.worker(limits=HostLimits(concurrency=2))
    worker.say(put("a"), put("a"))
    grants = worker.book(*[Ask("a", slot=True) for _ in range(3)])
    assert [grant.granted for grant in grants] == [True, True, False]
    assert grants[2].wait_ms > 0
    assert worker.claim(2) == []
    assert len(worker.say(Left(grants[0].slot_id), want=2).claims) == 1
    assert worker.say(Left(grants[0].slot_id), want=2).claims == [], "a slot is freed once"
    assert len(worker.say(Left(grants[1].slot_id), want=2).claims) == 1


def test_nothing_is_left_of_a_slot_that_was_freed(world: World):
    worker = world.worker(limits=HostLimits(concurrency=2))
    (grant,) = worker.book(Ask("a", slot=True))
    worker.say(Left(grant.slot_id))
    assert (world.facts().leases, world.facts().active, world.facts().leased) == ({}, {}, 0)


def test_a_slot_is_no_request(world: World):
    worker = world.worker(max_idle_ms=1000)
    worker.book(Ask("a", slot=True))
    assert worker.say().open == 0
    world.advance(1000)
    assert worker.say().ended == 1


def test_slots_of_two_workers_have_different_names(world: World):
    grants = [world.worker(name).book(Ask("a", slot=True))[0] for name in ("one", "other")]
    assert grants[0].slot_id != grants[1].slot_id
    assert world.facts().active == {"a": 2}


def test_a_paused_host_is_left_alone_by_downloads_that_were_never_claimed(world: World):
    for worker in (world.worker("slow", limits=SLOW), world.worker("free")):
        worker.say(Pause(worker.name, 5000))
        assert worker.book(Ask(worker.name))[0].wait_ms == 5000


def test_a_host_without_limits_grants_at_once(world: World):
    worker = world.worker()
    grants = worker.book(*[Ask("a")] * 3)
    assert [(grant.granted, grant.wait_ms, grant.slot_id) for grant in grants] == [(True, 0, "")] * 3
