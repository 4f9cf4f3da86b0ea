"""From fleet.toml to what is to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.apply import apply, plan
from deploy.crawls import Crawls
from deploy.fleet import FleetFile

FIRST = """
[crawls.shop]
spider = "site"
workers = 2
settings = { TOKEN = "hush" }
[crawls.feed]
after = "shop"
[crawls.nightly]
[timers.t]
cron = "0 3 * * *"
crawl = "nightly"
"""


def fleet(text: str):
    return FleetFile(Path("fleet.toml"), text).fleet()


def actions(text: str, crawls: Crawls) -> dict[str, str]:
    return {step.crawl: step.action for step in plan(fleet(text), crawls.all())}


@pytest.fixture
def crawls(redis_client):
    crawls = Crawls(redis_client)
    apply(plan(fleet(FIRST), {}), crawls)
    return crawls


def test_what_is_declared_is_started_and_what_waits_is_registered(redis_client):
    crawls = Crawls(redis_client)
    assert actions(FIRST, crawls) == {"shop": "start", "feed": "register", "nightly": "register"}
    apply(plan(fleet(FIRST), {}), crawls)
    assert {name: held.state for name, held in crawls.all().items()} == {
        "feed": "idle",
        "nightly": "idle",
        "shop": "up",
    }


def test_a_second_apply_changes_nothing(crawls):
    assert set(actions(FIRST, crawls).values()) == {"keep"}


@pytest.mark.parametrize(
    ("change", "action", "why"),
    [
        (("workers = 2", "workers = 5"), "change", "workers: 2 → 5"),
        (("hush", "other"), "restart", "settings: changed → changed"),
        (('spider = "site"', 'spider = "catalogue"'), "restart", "spider: site → catalogue"),
    ],
)
def test_what_its_workers_are_told_needs_others_and_no_secret_is_shown(crawls, change, action, why):
    steps = {step.crawl: step for step in plan(fleet(FIRST.replace(*change)), crawls.all())}
    assert (steps["shop"].action, steps["shop"].why) == (action, why)
    apply(list(steps.values()), crawls)
    assert crawls.get("shop").run == 1 + (action == "restart")


def test_what_is_no_more_declared_is_stopped_or_forgotten_and_what_was_started_by_hand_is_not(crawls):
    crawls.start("mine", crawls.get("shop").spec)
    assert actions("", crawls) == {"shop": "stop", "feed": "forget", "nightly": "forget"}
    apply(plan(fleet(""), crawls.all()), crawls)
    assert {name: held.state for name, held in crawls.all().items()} == {"mine": "up", "shop": "down"}


def test_a_crawl_that_is_done_is_not_begun_again_and_one_that_was_stopped_is(crawls):
    crawls.update("shop", lambda held: held.ended(1.0, "done", "finished"))
    assert actions(FIRST, crawls)["shop"] == "keep"
    crawls.update("shop", lambda held: held.ended(1.0, "stopped", "stopped"))
    assert actions(FIRST, crawls)["shop"] == "start"


def test_one_that_is_to_come_after_another_crawl_does_not_count_with_the_runs_of_the_first(redis_client):
    crawls = Crawls(redis_client)
    apply(plan(fleet(FIRST), {}), crawls)
    for _ in range(3):
        crawls.update("shop", lambda held: held.started(1.0).ended(2.0, "done", "finished"))
        crawls.follow("feed", crawls.all())
    now = FIRST.replace('after = "shop"', 'after = "nightly"')
    apply(plan(fleet(now), crawls.all()), crawls)
    assert not crawls.get("feed").due_after(crawls.all())
    crawls.update("nightly", lambda held: held.started(3.0).ended(4.0, "done", "finished"))
    assert crawls.get("feed").due_after(crawls.all()), "nightly's first run, though shop had four"


def test_what_is_started_by_hand_does_not_follow_what_had_ended_before(redis_client):
    crawls = Crawls(redis_client)
    crawls.start("shop", fleet(FIRST).crawls["shop"])
    crawls.update("shop", lambda held: held.ended(1.0, "done", "finished"))
    crawls.start("feed", fleet(FIRST).crawls["feed"])
    assert not crawls.get("feed").due_after(crawls.all())


def test_what_ended_before_it_was_declared_is_not_waited_for(redis_client):
    crawls = Crawls(redis_client)
    crawls.start("shop", fleet(FIRST).crawls["shop"])
    crawls.update("shop", lambda held: held.ended(1.0, "done", "finished"))
    apply(plan(fleet(FIRST), crawls.all()), crawls)
    assert not crawls.get("feed").due_after(crawls.all())
