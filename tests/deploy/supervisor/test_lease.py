"""One acts: the lease, its token, and what an old token can still do (nothing)."""

from __future__ import annotations

import pytest

from deploy import keys
from deploy.crawls import Crawls, LeaseLost
from deploy.errors import DeployError, UsageError
from deploy.fleet import After, CrawlSpec
from deploy.supervisor.lease import Lease
from tests.deploy.conftest import eventually


def test_one_has_it_and_the_other_gets_it_when_it_is_given_back(redis_client):
    one, two = Lease(redis_client), Lease(redis_client)
    assert one.take()
    assert not two.take()
    assert one.take(), "again: it renews"
    one.give_back()
    assert two.take()
    assert int(two.token) == 2


def test_one_that_is_not_renewed_goes_to_the_other_and_the_old_token_writes_nothing(redis_client):
    one, two = Lease(redis_client, seconds=0.1), Lease(redis_client)
    assert one.take()
    eventually(two.take, 5, 0.02)
    with pytest.raises(LeaseLost):
        one.write({(keys.PLACED, "j"): "{}"})
    assert redis_client.hgetall(keys.PLACED) == {}
    with pytest.raises(LeaseLost):
        Crawls(redis_client, one.token).start("c", CrawlSpec(spider="c"))
    one.give_back()
    assert two.take(), "an old holder takes nothing away"
    two.write({(keys.PLACED, "j"): "1", (keys.SEEN, "c"): "2"})
    two.write({(keys.PLACED, "j"): ""})
    assert redis_client.hgetall(keys.PLACED) == {}
    assert redis_client.hgetall(keys.SEEN) == {b"c": b"2"}


def test_a_change_of_what_nobody_has_seen_is_made_anew(redis_client):
    crawls = Crawls(redis_client)
    crawls.start("c", CrawlSpec(spider="c"))
    tries = []

    def change(held):
        if not tries:
            crawls.update("c", lambda other: other.model_copy(update={"waiting": 7}))
        tries.append(held.waiting)
        return held.model_copy(update={"reason": "mine"})

    changed = crawls.update("c", change)
    assert tries == [0, 7]
    assert (changed.waiting, changed.reason, changed.revision) == (7, "mine", 3)


@pytest.mark.parametrize(
    ("overlap", "begun", "run", "waiting"), [("skip", False, 1, 0), ("queue", False, 1, 1), ("replace", True, 2, 0)]
)
def test_a_start_while_it_runs_does_what_overlap_says(redis_client, overlap, begun, run, waiting):
    crawls = Crawls(redis_client)
    spec = CrawlSpec(spider="c", overlap=overlap)
    assert crawls.start("c", spec)[1] is True
    wanted, again = crawls.start("c", spec)
    assert (again, wanted.run, wanted.waiting) == (begun, run, waiting)


def test_what_comes_after_a_run_is_started_once_for_it(redis_client):
    crawls = Crawls(redis_client)
    crawls.start("a", CrawlSpec(spider="a"))
    spec = CrawlSpec(spider="b", after=After(crawl="a", state="done"))
    crawls.change(
        "b", lambda _: crawls.get("a").model_copy(update={"name": "b", "spec": spec, "run": 0, "state": "idle"})
    )
    assert not crawls.get("b").due_after(crawls.all()), "a runs"
    crawls.update("a", lambda held: held.ended(1.0, "failed", "x"))
    assert not crawls.get("b").due_after(crawls.all()), "a has failed"
    crawls.update("a", lambda held: held.started(2.0).ended(3.0, "done", "x"))
    for _ in range(2):
        crawls.follow("b", crawls.all())
        assert (crawls.get("b").run, crawls.get("b").state, crawls.get("b").followed) == (1, "up", 2)


def test_what_was_stopped_by_hand_comes_after_nothing_until_it_is_started(redis_client):
    crawls = Crawls(redis_client)
    spec = CrawlSpec(spider="b", after=After(crawl="a", state="done"), overlap="replace")
    crawls.start("a", CrawlSpec(spider="a"))
    crawls.start("b", spec)
    crawls.update("b", lambda held: held.stopped(1.0).ended(1.0, "stopped", "stopped"))
    crawls.update("a", lambda held: held.ended(2.0, "done", "x"))
    crawls.follow("b", crawls.all())
    assert (crawls.get("b").run, crawls.get("b").state) == (1, "idle")
    crawls.start("b", spec)
    crawls.follow("b", crawls.all())
    assert crawls.get("b").run == 2, "what ended while it was held is over"
    crawls.update("a", lambda held: held.started(3.0).ended(4.0, "done", "x"))
    crawls.follow("b", crawls.all())
    assert crawls.get("b").run == 3


def test_a_crawl_that_nobody_knows_cannot_be_changed(redis_client):
    with pytest.raises(UsageError, match="no crawl 'x'"):
        Crawls(redis_client).update("x", lambda held: held)


def test_a_record_of_another_program_is_named(redis_client):
    redis_client.hset(keys.CRAWLS, "c", '{"name": "c"}')
    with pytest.raises(DeployError, match="fleet:crawls holds a record of c that this program does not understand"):
        Crawls(redis_client).all()
