"""When a crawl is over, and what is shown until then; with real Redis and nodes that fall silent."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from deploy import watch as watch_module
from deploy.crawl import Plan
from deploy.jobs import Job
from deploy.watch import elapsed, watch
from spiders_project.keys import Keys
from tests.deploy.fake_node import fake_node

KEYS = Keys("w")
JOBS = [Job("n1", "j1", "w", "pending")]


def listing(*running: str):
    return 200, {"status": "ok", "pending": [], "running": [{"id": job} for job in running], "finished": []}


@pytest.fixture
def crawl(redis_client):
    """``crawl(state, beating=True)``: what a worker and its run would have left in Redis."""

    def write(state: str, *, beating: bool, pages: int = 0) -> None:
        now = redis_client.time()[0] * 1000
        report = {"node": "n1", "job": "j1", "version": "v", "counts": {"pages": pages, "items": pages}}
        redis_client.hset(KEYS.run, mapping={"id": "r", "state": state, "pages": pages, "started_at": now})
        redis_client.hset(KEYS.reports, "worker", json.dumps(report))
        if beating:
            redis_client.zadd(KEYS.workers, {"worker": now})
        else:
            redis_client.zrem(KEYS.workers, "worker")

    return write


def test_a_crawl_is_over_when_its_jobs_and_its_heartbeats_have_ended(crawl, redis_client, capsys):
    turns = itertools.count()

    def jobs():
        turn = next(turns)
        crawl("open" if turn < 2 else "finished", beating=turn < 4, pages=turn)
        return listing(*(["j1"] if turn < 3 else []))

    with fake_node({"/listjobs.json": jobs}) as fake:
        watched = watch(Plan("w", (), (fake.node("n1"),)), JOBS, redis_client, poll_seconds=0.01)
    assert watched.ended
    assert watched.status.state == "finished"
    assert watched.count("items", "j1") == watched.pages == 4, "the last reading is one after the end"
    out, err = capsys.readouterr()
    assert out == ""
    assert "pages 0 · items 0" in err, "a plain line, since this is no terminal"


def test_workers_that_do_not_close_are_not_waited_for_for_ever(crawl, redis_client, monkeypatch):
    monkeypatch.setattr(watch_module, "_CLOSING_SECONDS", 0.05)
    crawl("finished", beating=False)
    with fake_node({"/listjobs.json": listing("j1", "of somebody else")}) as fake:
        watched = watch(Plan("w", (), (fake.node("n1"),)), JOBS, redis_client, poll_seconds=0.01)
    assert not watched.ended
    assert watched.lingering == {"j1"}


def test_a_node_that_falls_silent_is_believed_to_run_on_for_a_while(crawl, redis_client, monkeypatch, capsys):
    monkeypatch.setattr(watch_module, "_SILENCE_SECONDS", 0.4)
    monkeypatch.setattr(watch_module, "PLAIN_LINE_SECONDS", 0)
    crawl("open", beating=False)
    began = time.monotonic()
    with fake_node((502, "no Scrapyd here")) as fake:
        watched = watch(Plan("w", (), (fake.node("n1"),)), JOBS, redis_client, poll_seconds=0.05)
    assert watched.ended
    assert time.monotonic() - began > 0.4
    assert "n1: listjobs.json answered HTTP 502" in capsys.readouterr().err


def test_a_silent_node_is_not_given_up_while_its_worker_lives(crawl, redis_client, monkeypatch):
    monkeypatch.setattr(watch_module, "_SILENCE_SECONDS", 0.05)
    crawl("open", beating=True)
    asked = itertools.count()

    def silent():
        if next(asked) == 10:
            crawl("finished", beating=False)
        return 502, "no"

    with fake_node({"*": silent}) as fake:
        watched = watch(Plan("w", (), (fake.node("n1"),)), JOBS, redis_client, poll_seconds=0.02)
    assert watched.status.state == "finished"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (61.9, "1:01"), (3723, "1:02:03")])
def test_elapsed(seconds, shown):
    assert elapsed(seconds) == shown
