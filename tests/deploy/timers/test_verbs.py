"""``timers list|next|run|pause|resume``, on real Redis, with and without a supervisor."""

from __future__ import annotations

import json
import time

import pytest

from deploy.cli import main
from deploy.fleet import load_fleet
from deploy.keys import LEASE
from deploy.timers.hook import CrawlStarts
from deploy.timers.state import TimerStore
from deploy.timers.tick import Timers
from tests.deploy.timers.test_tick import Ledger

FLEET = """
[crawls.site]
workers = 2

[timers.nightly]
cron = "0 3 * * *"
timezone = "Asia/Kolkata"
jitter = "5m"
crawl = "site"

[timers.login]
interval = "1h"
spider = "login"
"""


@pytest.fixture
def project(tmp_path, monkeypatch, redis_url, redis_client):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = spiders_project.settings\n")
    (tmp_path / "fleet.toml").write_text(FLEET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_URL", redis_url)
    return tmp_path


@pytest.fixture
def timers(project, capsys):
    def call(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["timers", *args])
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out if code == 0 else err

    return call


@pytest.fixture
def supervise(project, redis_client):
    """One round of a supervisor, ``later`` seconds from now; the runs of each crawl so far."""
    ledger = Ledger()

    def turn(later: float = 0.0):
        store = TimerStore(redis_client)
        Timers(store, CrawlStarts(ledger), str).tick(store.now() + later, load_fleet(project))
        return {name: record.run for name, record in ledger.records.items()}

    return turn


def test_timers_are_listed_with_their_next_time_also_before_a_supervisor_ever_ran(timers, supervise):
    listed = {one["name"]: one for one in json.loads(timers("list", "--json"))}
    assert (listed["nightly"]["starts"], listed["login"]["starts"]) == ("site", "login")
    assert listed["nightly"]["when"] == "0 3 * * * (Asia/Kolkata), up to 300 s later"
    assert "T21:3" in listed["nightly"]["next"], "03:00 to 03:05 in Kolkata, as UTC"
    assert supervise() == {}
    supervise(3601)
    table = timers("list")
    assert [line.split()[0] for line in table.splitlines()] == ["timer", "nightly", "login"]
    assert "every 1:00:00" in table
    assert "started" in table
    listed = {one["name"]: one for one in json.loads(timers("list", "--json"))}
    assert (listed["login"]["last"]["result"], listed["nightly"]["last"]) == ("started", None)


def test_the_next_times_are_shown_in_local_time_with_its_zone(timers, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    lines = timers("next", "nightly", "-n", "3").splitlines()[1:]
    monkeypatch.undo()
    time.tzset()
    assert len(lines) == 3
    assert all(line.startswith("nightly") and line.endswith("06:30:00 JST") for line in lines)


def test_a_paused_timer_does_not_fire_and_does_not_make_up_for_it(timers, supervise):
    supervise()
    timers("pause", "login")
    assert supervise(3601) == {}
    [login] = [one for one in json.loads(timers("list", "--json")) if one["name"] == "login"]
    assert (login["paused"], login["next"]) == (True, None)
    assert "login fires next" in timers("resume", "login")
    assert supervise(1) == {}
    assert supervise(3601) == {"login": 1}


def test_run_fires_now_also_a_paused_one_and_keeps_the_next_time(timers, supervise, redis_client):
    supervise()
    timers("pause", "nightly")
    assert "as soon as `python -m deploy supervise` runs" in timers("run", "nightly")
    redis_client.set(LEASE, "1 host:1")
    assert "within seconds" in timers("run", "login")
    before = {name: entry.state.next for name, entry in TimerStore(redis_client).read().items()}
    assert supervise(1) == {"site": 1, "login": 1}
    assert supervise(2) == {"site": 1, "login": 1}
    assert {name: entry.state.next for name, entry in TimerStore(redis_client).read().items()} == before


def test_what_is_wrong_is_said(timers, project, monkeypatch):
    assert "fleet.toml has no timer 'weekly': it has nightly, login" in timers("pause", "weekly", code=2)
    (project / "fleet.toml").write_text('[timers.t]\ncron = "0 9 * * 9"\nspider = "s"\n')
    assert "line 2: timers.t.cron: '9' is no day of the week" in timers("list", code=2)
    (project / "fleet.toml").write_text(FLEET)
    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@127.0.0.1:9/0")
    away = timers("list", code=4)
    assert "127.0.0.1:9" in away
    assert "hunter2" not in away
