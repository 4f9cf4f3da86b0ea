"""Room, priority, timers and ``after`` on real nodes, and ``supervise`` as the program that people start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone

import pytest

from deploy.client import NodeClient
from deploy.fleet import Fleet, NodeSpec
from deploy.supervisor.lease import LEASE_SECONDS, Lease
from deploy.supervisor.limits import Limits
from tests.deploy.conftest import ROOT, eventually
from tests.deploy.eggs import small_egg
from tests.deploy.supervisor.conftest import LEASE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_a_node_is_given_only_what_it_can_start_and_the_higher_priority_goes_first(farm):
    """scrapyd#187, #533: its priority holds in one project only; scrapyd#535: it takes any number of jobs."""
    one, two = (NodeClient(node) for node in farm.nodes)
    most = {"node1": 0, "node2": 0}

    def given(crawl: str) -> list[str]:
        """The nodes that run ``crawl``, and a look at how much each node has."""
        for name, client in (("node1", one), ("node2", two)):
            jobs = client.all_jobs()
            most[name] = max(most[name], len(jobs["pending"] + jobs["running"]))
        return [farm.placed()[job].node for job in farm.beating(crawl) if job in farm.placed()]

    one.add_version("other", "v1", small_egg("of another project"))
    one.start("other", "telling", job="theirs", version="v1", arguments={"stays": "1"}, settings={})
    try:
        farm.start("feed", spider="feed", workers=5000)
        with farm.supervising(fleet=lambda: Fleet(nodes={name: NodeSpec(capacity=1) for name in most})):
            assert eventually(lambda: given("feed"), 40) == ["node2"]
            assert any("4999 of 5000 workers wait for room" in problem for problem in farm.seen("feed").problems)
            farm.start(workers=1, priority=1)
            eventually(lambda: farm.seen() and farm.seen().problems, 10)
            assert "1 of 1 workers wait for room" in farm.seen().problems[0]
            one.cancel("other", "theirs")
            assert eventually(lambda: given("site"), 40) == ["node1"]
            assert given("feed") == ["node2"], "nothing that runs is ended for it"
        assert most == {"node1": 1, "node2": 1}
    finally:
        one.delete_project("other")


@pytest.mark.soak
def test_with_the_patience_of_life_what_is_lost_is_replaced_within_20_s(farm):
    farm.start(workers=2, settings={"FRONTIER_LEASE_SECONDS": "15"})
    with farm.supervising(limits=Limits(), lease_seconds=LEASE_SECONDS):
        jobs = farm.running(2, on={"node1", "node2"})
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > Limits().redis)  # missing heartbeats are believed from now on
        there = next(job for job, node in jobs.items() if node == "node2")
        began = time.monotonic()
        farm.kill("node2")
        jobs = farm.running(2, without=there, on={"node1"})
        assert time.monotonic() - began < 20
        began, job = time.monotonic(), next(iter(jobs))
        farm.process(job).kill()
        farm.running(2, without=job)
        assert time.monotonic() - began < 20


@contextmanager
def supervising(log):
    """``python -m deploy supervise`` in the working directory."""
    command = [sys.executable, "-m", "deploy", "supervise", "--poll", "0.2"]
    with log.open("wb") as file:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_timer_starts_a_crawl_and_its_end_starts_the_next_one(farm, verb, tmp_path, killed):
    """With the supervisor killed before it can fire, by the one that stood by."""
    at = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(seconds=8 if killed else 4)
    (tmp_path / "fleet.toml").write_text(f"""
        [crawls.site]
        settings = {{ MAX_IDLE_TIME_BEFORE_CLOSE = 1, FRONTIER_LEASE_SECONDS = {LEASE} }}
        [crawls.feed]
        after = "site"
        settings = {{ FRONTIER_LEASE_SECONDS = {LEASE} }}
        [timers.soon]
        date = {at:%Y-%m-%dT%H:%M:%SZ}
        crawl = "site"
    """)
    verb("apply", "--yes")
    assert {name: held.state for name, held in farm.crawls.all().items()} == {"feed": "idle", "site": "idle"}
    lease = Lease(farm.client)
    with supervising(tmp_path / "one.log") as first:
        eventually(lease.holder, 20)
        with ExitStack() as stack:
            acting = first
            if killed:
                acting = stack.enter_context(supervising(tmp_path / "two.log"))
                eventually(lambda: "standing by" in (tmp_path / "two.log").read_text(), 20)
                first.kill()
                eventually(lambda: f":{acting.pid}" in (lease.holder() or ""), 15)
            [job] = eventually(lambda: farm.beating("feed"), 60)
            assert (farm.crawls.get("site").outcome, farm.crawls.get("site").run) == ("done", 1)
            assert farm.crawls.get("site").started_at >= at.timestamp()
            acting.send_signal(signal.SIGTERM)
            assert acting.wait(15) == 0
    assert "ended; the crawls go on" in (tmp_path / ("two.log" if killed else "one.log")).read_text()
    assert job in farm.beating("feed")
