"""The supervisor over real Scrapyd daemons, which are killed, cut off and confused."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing

import pytest

from deploy.client import NodeClient
from deploy.control import Control
from deploy.errors import CrawlError, UsageError
from deploy.local import processes
from deploy.targets import Node
from tests.crawl.relay import Relay
from tests.deploy.conftest import ROOT, eventually
from tests.deploy.supervisor.conftest import LEASE, QUICK, VERSION

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_a_killed_worker_and_a_dead_node_are_replaced(farm):
    farm.start(workers=2)
    with farm.supervising():
        first = farm.running(2, on={"node1", "node2"})
        victim = next(job for job, node in first.items() if node == "node1")
        farm.process(victim).kill()
        second = farm.running(2, without=victim)
        assert len(first.keys() & second.keys()) == 1, "the other one was left alone"
        farm.kill("node2")
        farm.running(2, on={"node1"})
    assert any("node2: cannot connect" in event for event in farm.events)


@pytest.mark.soak
def test_a_node_that_returns_gets_its_share_again(farm):
    farm.kill("node2")
    farm.start(workers=1)
    with farm.supervising():
        farm.running(1, on={"node1"})
        farm.servers["node2"].start()
        farm.crawls.update("site", lambda held: held.scaled(2))
        farm.running(2, on={"node1", "node2"})


def test_a_node_that_is_cut_off_keeps_its_workers_and_they_are_not_doubled(farm):
    near, far = farm.nodes
    with Relay(far.url).serving() as relay:
        behind = Node("node2", relay.url.replace("//@", "//") + "/", username=far.username, password=far.password)
        with farm.supervising([near, behind]):
            farm.start(workers=2)
            jobs = farm.running(2, on={"node1", "node2"})
            relay.refuse()
            eventually(lambda: any("cannot connect" in problem for problem in farm.seen().problems), 20)
            since = farm.seen().at
            eventually(lambda: farm.seen().at > since + QUICK.silence + 1, 30)
            assert farm.running(2) == jobs
            assert farm.beating() == jobs
            relay.accept()
            eventually(lambda: not farm.seen().problems, 20)
            assert farm.running(2) == jobs


@pytest.mark.soak
def test_a_poller_that_hangs_is_noticed_and_its_job_started_elsewhere_and_strangers_are_left_alone(farm):
    database = farm.servers["node1"].directory / "dbs" / "spiders_project.db"
    with closing(sqlite3.connect(database)) as connection:
        # One poll that fails is Scrapyd's last.
        connection.execute("ALTER TABLE spider_queue RENAME TO away")
        log = farm.servers["node1"].log
        eventually(lambda: "no such table" in log.read_text(), 20)
        connection.execute("ALTER TABLE away RENAME TO spider_queue")
    stranger = "f" * 32
    there = NodeClient(farm.nodes[1])
    there.start("spiders_project", "feed", job=stranger, version=VERSION, arguments={}, settings={})
    try:
        farm.start(workers=2, placement="round-robin", settings={"FRONTIER_LEASE_SECONDS": LEASE})
        with farm.supervising():
            farm.running(2, on={"node2"})
        assert any("which has free slots" in event for event in farm.events)
        assert [job["id"] for job in there.all_jobs()["running"] if job["spider"] == "feed"] == [stranger]
        assert not any(stranger in event for event in farm.events)
    finally:
        farm.servers["node1"].stop()


@pytest.mark.soak
def test_a_worker_that_hangs_is_killed_and_replaced_and_one_that_fails_at_once_is_given_up(farm):
    with farm.supervising():
        farm.start(workers=1)
        [job] = farm.running(1)
        process = farm.process(job)
        process.send_signal(signal.SIGSTOP)
        farm.running(1, without=job)
        eventually(lambda: job not in farm.placed(), 20)
        assert not process.is_running()
        farm.start("looping", spider="feed", retries=1, arguments={"max_pages": "nonsense"})
        eventually(lambda: farm.crawls.get("looping").outcome == "failed", 40)
    assert "crash-looping: every worker failed 2 times in a row" in farm.crawls.get("looping").reason
    assert len(farm.seen("looping").failures) == 2
    last = farm.seen("looping").failures[-1]
    assert "max_pages" in Control(ROOT, farm.nodes, farm.client).last_error(last.job, last.node)


@pytest.mark.soak
def test_another_supervisor_takes_over_and_a_run_that_is_done_is_not_begun_again(farm):
    settings = {"MAX_IDLE_TIME_BEFORE_CLOSE": "1"}
    with farm.supervising(lease_seconds=1.5) as one, farm.supervising(lease_seconds=1.5) as two:
        eventually(lambda: one.lease.token or two.lease.token)
        acting = one if one.lease.token else two
        farm.start(workers=1, settings=settings)
        eventually(farm.placed, 10)
        acting.turn = lambda **_: True  # it hangs, and thinks that it acts
        other = two if acting is one else one
        eventually(lambda: other.lease.token, 15)
        farm.client.rpush("site:start_urls", "http://127.0.0.1:9/")
        eventually(lambda: farm.crawls.get("site").outcome == "done", 60)
        at = farm.seen().at
        eventually(lambda: farm.client.hlen("fleet:placed") == 0)
        assert farm.crawls.get("site").run == 1
    assert at
    assert sum("starting site" in event for event in farm.events) == 1


@pytest.mark.soak
def test_jobs_that_a_restarted_scrapyd_has_forgotten_are_kept_and_can_be_ended(farm):
    farm.start(workers=2)
    with farm.supervising():
        jobs = farm.running(2, on={"node1", "node2"})
        processes.kill([farm.servers["node1"].process])
        farm.servers["node1"].start()
        eventually(lambda: any("has forgotten it" in problem for problem in farm.seen().problems), 30)
        assert farm.running(2) == jobs
        farm.crawls.update("site", lambda held: held.model_copy(update={"state": "down"}))
        eventually(lambda: farm.crawls.get("site").outcome == "stopped", 40)
    eventually(lambda: not farm.servers["node1"].jobs, 20)
    assert farm.client.hlen("fleet:ending") == 0


@pytest.mark.soak
def test_while_redis_is_away_it_waits_and_afterwards_nobody_is_judged(farm):
    with Relay(farm.redis_url).serving() as relay, farm.supervising(redis_url=relay.url):
        farm.start(workers=2)
        jobs = farm.running(2)
        relay.refuse()
        eventually(lambda: any("the nodes' jobs go on" in event for event in farm.events), 20)
        relay.accept()
        since = farm.seen().at
        eventually(lambda: farm.seen().at > since + 1, 20)
        assert farm.running(2) == jobs


def test_without_a_supervisor_the_verbs_act_themselves(farm, verb):
    def status():
        return json.loads(verb("status", "site", "--json").out)

    with pytest.raises(UsageError, match="has no spider 'nonsense': it has catalogue, feed, site, sitemap"):
        verb("start", "nonsense")
    with pytest.raises(UsageError, match="'a b' cannot be the name"):
        verb("start", "a b")
    with pytest.raises(UsageError, match="'a:b' cannot be the namespace"):
        verb("start", "site", "-s", "FRONTIER_NAMESPACE=a:b")
    with pytest.raises(UsageError, match="no node has the label moon: there are none"):
        verb("start", "site", "--label", "moon")
    [typed_wrongly] = json.loads(verb("status", "siet", "--json").out)["problems"]
    assert "no crawl 'siet' was ever started" in typed_wrongly
    started = json.loads(verb("start", "site", "--workers", "2", "-s", f"FRONTIER_LEASE_SECONDS={LEASE}", "--json").out)
    assert {job["node"] for job in started["jobs"]} == {"node1", "node2"}
    shown = eventually(lambda: (now := status())["running"] == 2 and now, 30)
    assert (shown["wanted"], shown["nodes"], shown["finish_reason"]) == (2, {"node1": 1, "node2": 1}, None)
    stranger = "e" * 32
    there = NodeClient(farm.nodes[0])
    there.start("spiders_project", "site", job=stranger, version=VERSION, arguments={}, settings={})
    verb("scale", "site", "1")
    shown = eventually(lambda: (now := status())["foreign"] and now["running"] == 2 and now, 30)
    assert [job["job"] for job in shown["foreign"]] == [stranger]
    ended = verb("stop", "site", "--wait", "5")
    assert f"ended {stranger}" in ended.err
    assert farm.placed() == {}
    shown = eventually(lambda: (now := status())["running"] == 0 and now, 20)
    assert (shown["state"], shown["wanted"], shown["finish_reason"]) == ("idle", 0, "stopped")
    with pytest.raises(CrawlError, match="site: stopped"):
        verb("wait", "site")
