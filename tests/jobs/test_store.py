"""The record of a job on real Redis: who may say what, how long it is kept, what is made of damage."""

from __future__ import annotations

import time

import pytest
import redis

from deploy import records
from spiders_project.errors import FrontierError
from spiders_project.jobs import store
from spiders_project.jobs.record import this_process

FACTS = {"node": "n1", "spider": "site", "version": "v1", "lease": 4.0, "stats": {"pages": 3}, "error": None}


@pytest.fixture
def write(redis_client):
    def call(job="j", state="running", process="1@1", **more):
        facts = {**FACTS, **{name: more.pop(name) for name in list(more) if name in ("reason", "error", "node")}}
        return store.write(redis_client, job, state, facts, process=process, **{"keep_seconds": 100, **more})

    return call


@pytest.fixture
def read(redis_client):
    return lambda job="j": store.get(redis_client, job)


def test_what_is_written_is_read(write, read, redis_client):
    started = write(age=60.0, clock=time.time() + 7)
    record = read()
    assert (record.id, record.node, record.spider, record.stats) == ("j", "n1", "site", {"pages": 3})
    assert (record.state, record.alive, record.failed, record.error) == ("running", True, False, "")
    assert record.started_at == started == pytest.approx(record.seen_at - 60, abs=0.01)
    assert record.clock_off == pytest.approx(7, abs=2)
    assert 0 < redis_client.ttl(store.KEYS.job("j")) <= 100
    again = write(age=61.5)
    assert again == started, "a job starts once, however its clock runs"


def test_a_job_that_is_silent_for_two_thirds_of_its_lease_is_not_alive(write, read, redis_client):
    write()
    redis_client.hincrby(store.KEYS.job("j"), "seen_at", -2000)
    assert read().alive
    redis_client.hincrby(store.KEYS.job("j"), "seen_at", -700)
    assert not read().alive
    assert read().failed


def test_the_jobs_own_word_about_its_end_stands(write, read, redis_client):
    write()
    write(state="finished", reason="finished")
    ended = read().ended_at
    assert write() is None, "a beat that was late"
    assert write(state="failed", reason="not_closed") is None
    assert not records.complete_as_died(redis_client, "j")
    assert (read().state, read().reason, read().ended_at) == ("finished", "finished", ended)


def test_somebody_elses_word_about_its_death_can_be_wrong(write, read, redis_client):
    write()
    seen = read().seen_at
    assert records.complete_as_died(redis_client, "j", reason="no heartbeat", node="not this")
    assert not records.complete_as_died(redis_client, "j", reason="again")
    record = read()
    assert (record.state, record.reason, record.ended_at, record.node) == ("died", "no heartbeat", seen, "n1")
    assert record.stats == {"pages": 3}
    write()
    record = read()
    assert (record.state, record.alive, record.reason, record.ended_at) == ("running", True, "", None)
    assert records.complete_as_died(redis_client, "j")
    assert write(state="finished", reason="finished")
    assert read().state == "finished"


def test_a_job_that_never_wrote_is_completed_from_what_scrapyd_lists(read, redis_client):
    where = {"node": "n2", "project": "p", "spider": "site", "version": "v9"}
    tail = f"Traceback (most recent call last):\nValueError: redis://me:hunter2@h/0 {'x' * 9000}"
    assert records.complete_as_died(redis_client, "k", **where, reason="no record", log_tail=tail, age=30.0)
    record = read("k")
    assert (record.node, record.spider, record.version, record.state) == ("n2", "site", "v9", "died")
    assert record.ended_at == pytest.approx(record.started_at + 30, abs=1)
    assert len(record.error) == 4000
    assert redis_client.ttl(store.KEYS.job("k")) > 86_400
    assert records.last_traceback("a\nb\nc") == "a\nb\nc"


def test_another_process_under_the_same_job_id_begins_the_record_anew(write, read):
    write(age=50.0)
    write(state="failed", reason="frontier_error", error="OSError: old")
    write(process="2@2")
    record = read()
    assert (record.state, record.reason, record.error, record.ended_at) == ("running", "", "", None)
    assert "@" in this_process()


def test_the_newest_jobs_come_first_and_the_oldest_are_forgotten(write, redis_client):
    for number in range(6):
        write(f"j{number}", age=60.0 - number)
    assert [one.id for one in store.newest(redis_client)] == [f"j{number}" for number in (5, 4, 3, 2, 1, 0)]
    since = store.get(redis_client, "j4").started_at
    assert [one.id for one in store.newest(redis_client, since)] == ["j5", "j4"]
    store.trim(redis_client, 100, 3)
    assert [one.id for one in store.newest(redis_client)] == ["j5", "j4", "j3"]
    assert not redis_client.exists(store.KEYS.job("j0"))
    store.trim(redis_client, 57, 3)
    assert [one.id for one in store.newest(redis_client)] == ["j5", "j4"]


def test_jobs_that_have_not_told_their_end_are_found_at_once(write, redis_client):
    for number in range(4):
        write(f"j{number}", age=60.0 - number)
    write("j1", state="finished", reason="finished")
    records.complete_as_died(redis_client, "j2")
    assert [one.id for one in records.running(redis_client)] == ["j0", "j3"]
    write("j2")
    redis_client.delete(store.KEYS.job("j3"))  # expired
    assert [one.id for one in records.running(redis_client)] == ["j0", "j2"]
    store.trim(redis_client, 59, 10)
    assert [one.id for one in records.running(redis_client)] == ["j2"]


def test_pages_of_the_index_are_read_to_their_end(write, redis_client, monkeypatch):
    monkeypatch.setattr(store, "_PAGE", 2)
    for number in range(5):
        write(f"j{number}", age=60.0 - number)
    redis_client.delete(store.KEYS.job("j4"), store.KEYS.job("j3"))  # expired
    assert [one.id for one in store.newest(redis_client)] == ["j2", "j1", "j0"]


def test_damage_in_one_record_harms_no_other(write, redis_client):
    write("good")
    redis_client.hset(
        store.KEYS.job("bad"), mapping={"state": "odd", "pid": "x", "stats": "[", "seen_at": "", "node": b"\xff"}
    )
    redis_client.set(store.KEYS.job("string"), "no hash")
    redis_client.zadd(store.KEYS.jobs, {"bad": 1, "string": 2})
    good, bad = store.newest(redis_client)
    assert good.id == "good"
    assert (bad.state, bad.pid, bad.stats, bad.seen_at, bad.alive) == ("running", None, {}, None, False)


def test_a_redis_that_refuses_says_so(redis_client, redis_url):
    redis_client.acl_setuser("narrow", enabled=True, nopass=True, keys=["site:*"], commands=["+@all"])
    try:
        with redis.Redis.from_url(f"redis://narrow:any@{redis_url.partition('@')[2]}") as narrow:
            with pytest.raises(FrontierError, match="Check the password and ACL"):
                store.get(narrow, "j")
            with pytest.raises(FrontierError, match="Check the password and ACL"):
                store.write(narrow, "j", "running", FACTS, process="1@1")
    finally:
        redis_client.acl_deluser("narrow")
