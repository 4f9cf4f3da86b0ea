"""A supervisor's turn without any node: what starts by itself, what is said, what it outlives."""

from __future__ import annotations

import threading

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.crawls import Crawls, LeaseLost
from deploy.errors import ConnectError, DeployError
from deploy.fleet import After, CrawlSpec, Fleet
from deploy.supervisor.loop import Supervisor
from tests.deploy.supervisor.conftest import QUICK


@pytest.fixture
def crawls(redis_client):
    return Crawls(redis_client)


@pytest.fixture
def supervisor(redis_client):
    """Makes supervisors of no nodes; ``said`` is what they said."""
    made: list[Supervisor] = []

    def make(**options):
        client = options.pop("client", redis_client)
        said: list[str] = []
        options = {"fleet": Fleet, "version": lambda: "v", "limits": QUICK, "say": said.append, **options}
        made.append(Supervisor(client, [], **options))
        made[-1].said = said
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_crawl_starts_when_the_one_before_it_is_done_and_its_seeds_are_pushed_once(crawls, supervisor):
    crawls.start("a", CrawlSpec(spider="a"))
    after = CrawlSpec(spider="b", after=After(crawl="a"), seeds="seeds.txt")
    crawls.change(
        "b", lambda _: crawls.get("a").model_copy(update={"name": "b", "spec": after, "state": "idle", "run": 0})
    )
    seeded: list[str] = []
    acting = supervisor(seed=lambda wanted: seeded.append(wanted.name))
    assert acting.turn()
    assert crawls.get("b").state == "idle"
    crawls.update("a", lambda held: held.ended(1.0, "done", "finished"))
    for _ in range(3):
        assert acting.turn()
    assert (crawls.get("b").state, crawls.get("b").run) == ("up", 1)
    assert seeded == ["b"]
    assert "b: starting after a" in acting.said


def test_a_start_that_waits_begins_when_the_run_has_ended(crawls, supervisor):
    spec = CrawlSpec(spider="a", overlap="queue")
    crawls.start("a", spec)
    crawls.start("a", spec)
    acting = supervisor()
    acting.turn()
    assert (crawls.get("a").run, crawls.get("a").waiting) == (1, 1)
    crawls.update("a", lambda held: held.ended(1.0, "failed", "x"))
    acting.turn()
    assert (crawls.get("a").run, crawls.get("a").waiting, crawls.get("a").state) == (2, 0, "up")


def test_what_goes_wrong_beside_it_is_said_once_and_holds_up_nothing(crawls, supervisor):
    crawls.start("a", CrawlSpec(spider="a", seeds="gone.txt"))
    ran: list[str] = []

    def fails(_):
        raise DeployError("no seeds, no timers")

    acting = supervisor(seed=fails, also=[fails, ran.append])
    for _ in range(3):
        assert acting.turn()
    assert ran == [acting.lease.token] * 3
    assert acting.said.count("no seeds, no timers") == 2, "once for the seeds, once for the task"
    assert crawls.get("a").seeded == 0, "they are tried again"


def test_one_that_has_lost_its_lease_stands_by(supervisor):
    def lost(_):
        raise LeaseLost("another supervisor acts now")

    one, two = supervisor(also=[lost]), supervisor()
    assert not one.turn()
    assert one.lease.token == ""
    two.lease.take()
    assert not two.turn(), "until the old one has run out"


def test_one_that_stands_by_says_who_acts(supervisor):
    one, two, stopped = supervisor(), supervisor(), threading.Event()
    assert one.turn()
    two.turn = lambda: stopped.set() or False  # one round
    two.run(stopped)
    assert two.said == [f"standing by: {one.lease.holder()} acts"]


def test_redis_away_is_waited_for_by_a_supervisor_and_told_by_a_command(supervisor):
    with redis.Redis(port=9, retry=Retry(NoBackoff(), 0)) as nowhere:
        away = supervisor(client=nowhere)
        assert not away.turn()
        assert not away.turn()
        assert len([text for text in away.said if "the nodes' jobs go on" in text]) == 1
        with pytest.raises(ConnectError):
            away.turn(patient=False)
