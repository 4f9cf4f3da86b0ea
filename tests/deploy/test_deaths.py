"""The records of jobs whose heartbeat stopped are completed, and those of jobs that were only cut off are not."""

from __future__ import annotations

import socket
import time

import pytest
import redis

from deploy.deaths import Deaths
from deploy.errors import ConnectError
from deploy.supervisor.lease import LEASE_SECONDS
from deploy.targets import Node
from spiders_project.jobs import store
from tests.deploy.fake_node import fake_node

LOG = b"""2026-11-30 22:00:00 [scrapy] INFO: x
Traceback (most recent call last):
  File "a"
OSError: no space
2026-11-30 22:00:01 [scrapy] INFO: y
"""


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def job(redis_client):
    """``job(id)``: a beat; ``job(id, silent=True)``: a record that was written long ago."""

    def write(job_id, *, silent=False, **facts):
        facts = {"node": "n1", "project": "p", "spider": "site", "lease": 15.0, **facts}
        store.write(redis_client, job_id, "running", facts, process="1@1", keep_seconds=100, age=60.0)
        if silent:
            redis_client.hincrby(store.KEYS.job(job_id), "seen_at", -30_000)

    return write


def test_a_job_that_stays_silent_died_when_it_was_last_seen_with_what_its_log_says(job, redis_client):
    job("lives")
    job("dead", silent=True)
    said, clock = [], Clock()
    with fake_node({"/logs/p/site/dead.log": (200, LOG.decode()), "*": (404, "")}) as fake:
        deaths = Deaths(redis_client, [fake.node("n1")], said.append, clock=clock)
        for clock.now in (0.0, 5.0, 9.9):
            deaths()
            assert store.get(redis_client, "dead").state == "running", "not judged at first sight"
        clock.now = 10.0
        deaths()
        deaths()
    record = store.get(redis_client, "dead")
    assert (record.state, record.reason, record.ended_at) == ("died", "no heartbeat", record.seen_at)
    assert record.error == 'Traceback (most recent call last):\n  File "a"\nOSError: no space'
    assert store.get(redis_client, "lives").alive
    assert len(said) == 1
    assert said[0].startswith("site: job dead on n1 died: no heartbeat since 20")


def test_jobs_that_beat_again_after_an_outage_are_left_alone(job, redis_client):
    job("cut-off", silent=True)
    clock = Clock()
    deaths = Deaths(redis_client, [], lambda _: None, clock=clock)
    deaths()
    job("cut-off")
    clock.now = 9.0
    deaths()
    job("cut-off", silent=True)
    clock.now = 18.0
    deaths()
    assert store.get(redis_client, "cut-off").state == "running"


def test_a_dead_node_and_an_error_that_is_known_need_no_log(job, redis_client):
    job("away", silent=True)
    job("elsewhere", silent=True, node="n9")
    job("told", silent=True, error="MemoryError")
    Deaths(redis_client, [Node("n1", "http://127.0.0.1:9/")], lambda _: None, patience=0)()
    errors = {one: store.get(redis_client, one).error for one in ("away", "elsewhere", "told")}
    assert errors == {"away": "", "elsewhere": "", "told": "MemoryError"}
    assert store.running(redis_client) == []


def test_nodes_that_hang_do_not_hold_up_a_supervisor(job, redis_client):
    for number in range(4):
        job(f"dead{number}", silent=True)
    with socket.create_server(("127.0.0.1", 0)) as hanging:  # takes connections and never answers
        node = Node("n1", f"http://127.0.0.1:{hanging.getsockname()[1]}/")
        began = time.monotonic()
        Deaths(redis_client, [node], lambda _: None, patience=0)()
        assert time.monotonic() - began < LEASE_SECONDS / 2
    assert store.running(redis_client) == []


def test_a_redis_that_is_away_is_the_supervisors_affair():
    with redis.Redis(port=9, socket_connect_timeout=1) as client, pytest.raises(ConnectError, match="does not answer"):
        Deaths(client, [], lambda _: None)()
