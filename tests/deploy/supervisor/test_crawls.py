"""What fleet.toml and the verbs say of a crawl, on real nodes: drain, timeout, overlap, seeds, stop, push."""

from __future__ import annotations

import json

import pytest

from deploy import records
from deploy.client import NodeClient
from deploy.control import Control
from deploy.errors import ConnectError, DeployError
from tests.deploy.conftest import eventually
from tests.deploy.supervisor.conftest import VERSION

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

#: Workers end by themselves when there is nothing left to do.
CLOSING = {"MAX_IDLE_TIME_BEFORE_CLOSE": "1"}
#: A seed at which a connection is refused at once; it is still a request done.
SEED = "http://127.0.0.1:9/"


@pytest.fixture
def wiring(farm, tmp_path):
    """What a supervisor of the project in ``tmp_path`` is told by the verbs and by files."""
    control = Control(tmp_path, farm.nodes, farm.client)
    return {"seed": control.seed, "drained": control.drained}


def test_a_drained_node_gets_no_work_and_has_some_again_when_it_is_let_go_and_the_other_drained(farm, verb, wiring):
    verb("drain", "node1")
    with farm.supervising(**wiring):
        farm.start()
        [first] = farm.running(1, on={"node2"})
        verb("drain", "node1", "--off")
        assert "node2: 1 jobs run there" in verb("drain", "node2").err
        farm.running(1, without=first, on={"node1"})
        eventually(lambda: not farm.servers["node2"].jobs, 20)


@pytest.mark.soak
def test_the_work_of_a_drained_node_moves_beside_what_the_other_has(farm, verb, wiring):
    farm.start(workers=2)
    with farm.supervising(**wiring):
        farm.running(2, on={"node1", "node2"})
        verb("drain", "node1")
        farm.crawls.update("site", lambda held: held.scaled(3))
        farm.running(3, on={"node2"})
        scheduled = json.loads(verb("schedule", "feed", "--version", VERSION, "--json").out)
        assert list(scheduled["jobs"]) == ["node2"]
        verb("cancel", *scheduled["jobs"]["node2"], "--wait", "0")
        verb("drain", "node1", "--off")
        farm.crawls.update("site", lambda held: held.scaled(4))
        farm.running(4, on={"node1", "node2"})


@pytest.mark.soak
def test_a_job_over_its_timeout_is_ended_cleanly_and_not_replaced_for_ever(farm):
    farm.start(timeout=6, retries=1)
    with farm.supervising():
        eventually(lambda: farm.crawls.get("site").outcome == "failed", 60)
    failures = farm.seen().failures
    assert len({failure.job for failure in failures}) == len(failures) == 2
    assert {failure.node for failure in failures} == {"node1", "node2"}
    assert all("longer than its timeout of 6 s" in failure.why for failure in failures)
    assert "every worker failed 2 times in a row" in farm.crawls.get("site").reason
    reasons = {records.get(farm.client, failure.job).reason for failure in failures}
    # On a slow machine one may be told to end before its spider is open.
    assert reasons <= {"shutdown", "not_opened"}, "they closed, and were not killed"
    assert not farm.placed()


@pytest.mark.soak
@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_a_start_of_what_runs_is_left_out_or_waits_or_puts_others_in_its_place(farm, overlap):
    farm.start(overlap=overlap)
    with farm.supervising():
        [first] = farm.running(1)
        farm.start(overlap=overlap)
        if overlap == "replace":
            [second] = farm.running(1, without=first)
            assert (farm.placed()[second].run, farm.crawls.get("site").run) == (2, 2)
            eventually(lambda: first not in farm.placed(), 20)
            return
        at = farm.seen().at
        eventually(lambda: farm.seen().at > at + 1, 20)
        assert list(farm.running(1)) == [first]
        farm.crawls.update("site", lambda held: held.ended(farm.crawls.now(), "done", "finished"))
        if overlap == "queue":
            [second] = farm.running(1, without=first)
            assert farm.placed()[second].run == 2
        else:
            eventually(lambda: not farm.placed(), 20)
            assert farm.crawls.get("site").run == 1


def test_seeds_are_pushed_once_at_each_start_though_one_of_them_is_none(farm, tmp_path, wiring, capsys):
    (tmp_path / "seeds.txt").write_text(f"{SEED}\nno seed\n")
    for node in farm.nodes:  # nobody takes the seeds away
        farm.client.hset("fleet:drained", node.name, "0")
    with farm.supervising(**wiring):
        for run in (1, 2):
            farm.start(seeds="seeds.txt", overlap="replace")
            eventually(lambda run=run: farm.crawls.get("site").seeded == run, 20)
            at = farm.seen().at if farm.seen() else 0
            eventually(lambda at=at: farm.seen() and farm.seen().at > at + 0.5, 20)
            assert farm.client.lrange("site:start_urls", 0, -1) == [SEED.encode()] * run
    assert capsys.readouterr().err.count("seeds.txt, line 2 is no seed") == 2


@pytest.mark.soak
def test_seeds_of_a_started_crawl_are_crawled_to_its_end(farm, tmp_path, wiring):
    (tmp_path / "seeds.txt").write_text(f"{SEED}\n")
    farm.start(seeds="seeds.txt", settings={**CLOSING, "RETRY_ENABLED": "0"})
    with farm.supervising(**wiring):
        eventually(lambda: farm.crawls.get("site").outcome == "done", 60)
    assert (farm.crawls.get("site").run, farm.crawls.get("site").seeded) == (1, 1)


def test_what_was_stopped_by_hand_stays_down_when_the_crawl_before_it_ends(farm, verb, tmp_path):
    (tmp_path / "fleet.toml").write_text("""
        [crawls.site]
        workers = 0
        [crawls.feed]
        workers = 0
        after = "site"
    """)
    verb("apply", "--yes")
    stopped = verb("stop", "feed")
    assert "feed does not come after site any more until `python -m deploy start feed`" in stopped.err
    assert "it was stopped by hand" in verb("apply", "--dry-run").out

    def end_site():
        farm.crawls.update("site", lambda held: held.started(farm.crawls.now()))
        farm.crawls.update("site", lambda held: held.ended(farm.crawls.now(), "done", "finished"))

    with farm.supervising():
        end_site()
        farm.start("other", workers=0)
        rounds = set()
        eventually(lambda: (seen := farm.seen("other")) and (rounds.add(seen.at) or len(rounds) > 2), 20)
        assert (farm.crawls.get("feed").state, farm.crawls.get("feed").run) == ("idle", 0)
        verb("start", "feed")
        assert farm.crawls.get("feed").run == 1
        farm.crawls.update("feed", lambda held: held.ended(farm.crawls.now(), "done", "finished"))
        end_site()
        eventually(lambda: farm.crawls.get("feed").run == 2, 20)


@pytest.fixture
def fast(farm, verb, checkout, monkeypatch):
    """``verb("push", "--only", "fast", …)`` is for node2 alone, and gives back the version's name to use."""
    monkeypatch.chdir(checkout)
    (checkout / "fleet.toml").write_text('[nodes.node2]\nlabels = ["fast"]\n')
    return "1796000001-only"


def held(farm):
    """The versions on each node."""
    return {node.name: NodeClient(node).list_versions(node.project) for node in farm.nodes}


def test_a_rehearsed_release_sends_nothing(farm, verb, fast):
    before = held(farm)
    rehearsed = verb("push", "--only", "fast", "--version", fast, "--dry-run", "--json")
    assert json.loads(rehearsed.out)["spiders"] == {"node2": ["catalogue", "feed", "site", "sitemap"]}
    assert "to node2; nothing was sent" in rehearsed.err
    assert held(farm) == before


@pytest.mark.soak
def test_a_release_goes_to_the_labelled_nodes_alone(farm, verb, fast, capsys):
    before = held(farm)
    try:
        pushed = verb("push", "--only", "fast", "--version", fast)
        assert f"node2  {fast}  catalogue, feed, site, sitemap" in pushed.out
        assert held(farm) == {**before, "node2": [*before["node2"], fast]}
        with pytest.raises(DeployError, match="exists there already"):
            verb("push", "--only", "fast", "--version", fast)
        assert capsys.readouterr().out == ""
    finally:
        NodeClient(farm.nodes[1]).delete_version(farm.nodes[1].project, fast)


def test_what_nobody_knows_and_what_fails_is_a_sentence_and_no_empty_table(farm, verb, capsys):
    shown = verb("history", "nonsense")
    assert (shown.out, "no job of a spider 'nonsense' has left a record" in shown.err) == ("", True)
    with pytest.raises(DeployError, match="no node has version 1-none"):
        verb("delete", "1-none")
    assert capsys.readouterr().out == ""
    assert farm.placed() == {}


def test_the_status_of_a_crawl_without_redis_is_a_failed_connection(farm, verb, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://:secret@127.0.0.1:9/0")
    with pytest.raises(ConnectError, match="Redis does not answer") as caught:
        verb("status", "site")
    assert caught.value.exit_code == 4
    assert "secret" not in str(caught.value)
    assert farm.servers
