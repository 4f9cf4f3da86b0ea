"""A batch is one step, and is carried out once however often it arrives."""

from spiders_project.frontier.contract import Ack, Bury, GiveBack, HostLimits, Left, Pause, Refuse
from tests.conformance.world import World, put


def test_a_batch_that_is_sent_again_is_answered_as_before_and_changes_nothing(world: World):
    worker = world.worker(limits=HostLimits(delay_ms=100, concurrency=4), max_pages=50)
    worker.beat()
    claims = worker.say(*(put(f"h{number}", number) for number in range(12)), want=8).claims
    ids = [claim.request_id for claim in claims]
    first = worker.say(
        put("a", 1),
        put("new", 100),
        put("new"),
        put("new", 101, delay_ms=1000),
        Left(ids[0]),
        Ack(ids[0], 1),
        Bury(ids[1], b"{}"),
        GiveBack(ids[2]),
        Refuse(ids[3], b"{}", "1"),
        Pause("new", 5000),
        Left(ids[4]),
        want=3,
        local=2,
    )
    assert first.dropped == [0]
    assert len(first.claims) == 3
    before = world.facts()
    for _ in range(3):
        assert worker.again() == first
    assert world.facts() == before
    assert not worker.say(Ack(first.claims[0].request_id)).lost


def test_the_first_batch_may_be_sent_again(world: World):
    worker = world.worker()
    first = worker.say(put("a"), want=1)
    assert worker.again() == first
    assert len(world.facts().requests) == 1


def test_claims_that_are_answered_again_are_those_still_held(world: World):
    worker = world.worker()
    claims = worker.say(put("a", 1), put("a", 2), want=2).claims
    worker.reconcile(claims[0].request_id)
    assert worker.again().claims == claims[:1]


def test_a_worker_whose_last_batch_is_not_known_is_told_and_nothing_of_the_batch_is_done(world: World):
    # A replica that lagged was promoted: the puts of batch 2 are gone, so their parent's ack must not be taken.
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    before = world.facts()
    worker.sequence = 2
    answer = worker.say(put("a", 9), Ack(claim.request_id), want=4)
    assert answer.lost
    assert (answer.claims, answer.dropped) == ([], [])
    assert world.facts() == before


def test_the_news_that_words_were_lost_is_told_again(world: World):
    worker = world.worker()
    worker.say(put("a", 1))
    worker.sequence = 5
    assert worker.say(put("a", 2)).lost
    assert worker.again().lost, "or the worker would take the batch for carried out"
    assert len(world.facts().requests) == 1


def test_a_worker_goes_on_after_its_words_were_lost(world: World):
    worker = world.worker()
    (claim,) = worker.say(put("a", 1), want=1).claims
    worker.sequence = 5
    assert worker.say(Ack(claim.request_id)).lost
    answer = worker.say(put("a", 2), GiveBack(claim.request_id), want=2)
    assert not answer.lost
    assert len(answer.claims) == 2


def test_a_worker_that_was_forgotten_is_told(world: World):
    worker = world.worker()
    worker.say(put("a", 1), want=1)
    worker.leave()
    assert worker.say().lost


def test_workers_do_not_answer_for_each_other(world: World):
    one, other = world.worker("one"), world.worker("other")
    one.say(put("a", 1))
    assert other.say(put("b", 2)).dropped == []
    assert len(world.facts().requests) == 2
