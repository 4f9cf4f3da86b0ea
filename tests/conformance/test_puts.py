"""A request that was put is there, once, until it is acked or a dead letter."""

from spiders_project.frontier.contract import MAX_PRIORITY, Ack, Bury, GiveBack
from tests.conformance.world import World, put


def test_a_put_request_can_be_claimed_with_what_was_put(world: World):
    worker = world.worker()
    answer = worker.say(put("a", 1, name="payload"), want=5)
    (claim,) = answer.claims
    assert (claim.payload, claim.host, claim.deliveries) == (b"payload", "a", 0)
    assert answer.open == 1


def test_a_known_fingerprint_is_dropped_and_named(world: World):
    worker = world.worker()
    assert worker.say(put("a", 1), put("a", 2), put("b", 1)).dropped == [2]
    assert world.worker("other").say(put("a", 2), put("a", 3)).dropped == [0]
    assert world.facts().seen == 3
    assert len(world.facts().requests) == 3


def test_requests_that_are_not_filtered_are_all_kept(world: World):
    # F9: five identical dont_filter requests used to become one.
    worker = world.worker()
    assert worker.say(*[put("a", name="same")] * 5).dropped == []
    assert worker.names(9) == ["same"] * 5
    assert world.facts().seen == 0


def test_a_forced_put_is_queued_though_known_and_marked(world: World):
    worker = world.worker()
    assert worker.say(put("a", 1, force=True), put("a", 1, force=True), put("a", 1)).dropped == [2]
    assert len(worker.claim(9)) == 2


def test_a_request_stays_known_after_its_ack(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    answer = worker.say(Ack(claim.request_id), put("a", 1))
    assert answer.dropped == [1]
    assert answer.open == 0


def test_extreme_fingerprints_are_told_apart(world: World):
    marks = [0, 1, -1, 10**9, -(10**9), 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
    worker = world.worker()
    assert worker.say(*(put("a", mark) for mark in marks)).dropped == []
    assert worker.say(*(put("a", mark) for mark in marks)).dropped == list(range(len(marks)))


def test_a_delayed_put_waits_for_its_time(world: World):
    worker = world.worker()
    answer = worker.say(put("a", 1, name="later", delay_ms=1000), put("a", 2, name="now"), want=5)
    assert [one.payload for one in answer.claims] == [b"now"]
    assert answer.next_ms == 1000
    world.advance(999)
    assert worker.names() == []
    world.advance(1)
    assert worker.names() == ["later"]


def test_a_delayed_put_joins_by_its_priority(world: World):
    worker = world.worker()
    worker.say(put("a", 1, name="low"), put("a", 2, name="high", priority=5, delay_ms=10), put("a", 3, name="low 2"))
    world.advance(10)
    assert worker.names(3) == ["high", "low", "low 2"]


def test_priorities_beyond_all_bounds_are_kept_in_bounds(world: World):
    worker = world.worker()
    worker.say(
        put("a", 1, name="least", priority=-(10**30)),
        put("b", 2, name="most", priority=10**30),
        put("c", 3, name="high", priority=MAX_PRIORITY - 1),
        put("d", 4, name="low", priority=1 - MAX_PRIORITY),
    )
    assert worker.names(4) == ["most", "high", "low", "least"]


def test_payloads_and_hosts_of_any_bytes_survive(world: World):
    worker = world.worker()
    payload = bytes(range(256)) * 10
    (claim,) = world.worker().say(put("b\udcff ü: host", 1, name="x"), want=1).claims
    assert claim.host == "b\udcff ü: host"
    operation = put("a", 2)
    operation = type(operation)(payload, "a", fingerprint=operation.fingerprint)
    worker.sequence = 1
    assert worker.say(operation, want=1).claims[0].payload == payload


def test_buried_requests_are_dead_letters_and_nothing_else(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    assert worker.say(Bury(claim.request_id, b'{"reason": "r"}')).open == 0
    facts = world.facts()
    assert facts.dead == {claim.request_id}
    assert facts.run["done"] == facts.run["errors"] == 1
    assert facts.leased == 0


def test_operations_on_requests_that_are_not_leased_to_the_worker_change_nothing(world: World):
    owner, stranger = world.worker("owner"), world.worker("stranger")
    (claim,) = owner.say(put("a", 1), put("a", 2), want=1).claims
    stranger.say()
    before = world.facts()
    for id_ in (claim.request_id, "0000000002", "ffffffffff", "!1", ""):
        stranger.say(Ack(id_, 1), Bury(id_, b"{}"), GiveBack(id_))
    assert world.facts() == before


def test_operations_are_carried_out_in_their_order(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    answer = worker.say(GiveBack(claim.request_id), Ack(claim.request_id))
    assert answer.open == 1
