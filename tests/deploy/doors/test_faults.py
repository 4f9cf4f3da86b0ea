"""What the stock tools get wrong, shown, and what ours does with the same node."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from deploy.jobs import Job, cancel
from deploy.release import release
from deploy.withdrawals import Withdrawals
from tests.deploy.conftest import copy_checkout, eventually
from tests.deploy.doors.conftest import PROJECT, run
from tests.deploy.eggs import small_egg
from tests.deploy.fake_node import fake_node

pytestmark = pytest.mark.slow


SPIDERS = ["catalogue", "feed", "lingering", "site", "sitemap"]
BREAKS_ON_NODE2 = "import os\nif os.environ.get('NODE_NAME') == 'node2': import no_such_package\n"


def test_an_egg_that_a_node_cannot_list_fails_the_push_where_scrapyd_deploy_exits_0(at_the_door, deploy, stack):
    """scrapyd-client#30: Scrapyd says status: error with HTTP 200, and keeps the egg as its newest version."""
    one, two = (NodeClient(node) for node in stack_nodes(stack))
    for client in (one, two):
        client.add_version(PROJECT, "1796067001-aaaaaaaa", small_egg("fine"))
    (at_the_door / "spiders_project/spiders/broken.py").write_text(BREAKS_ON_NODE2)
    stock = run("scrapyd-deploy", "node2", "--version", "1796067002", cwd=at_the_door)
    assert '"status": "error"' in stock.stdout
    assert stock.returncode == 0
    assert two.list_versions(PROJECT)[-1] == "1796067002"
    two.delete_version(PROJECT, "1796067002")

    _, err = deploy("push", "--version", "1796067003-bbbbbbbb", code=1)
    assert "1 of 2 nodes failed" in err
    assert "node2: addversion.json" in err
    assert "no_such_package" in err
    assert "version 1796067003-bbbbbbbb was withdrawn from node1, node2" in err
    for client in (one, two):
        assert client.list_versions(PROJECT) == ["1796067001-aaaaaaaa"]


def test_an_egg_that_imports_nowhere_is_sent_nowhere(at_the_door, deploy, stack):
    (at_the_door / "spiders_project/spiders/broken.py").write_text("import no_such_package\n")
    _, err = deploy("push", "--version", "v1", code=1)
    assert "cannot be listed on this machine" in err
    assert "No module named 'no_such_package'" in err
    assert [NodeClient(node).list_versions(PROJECT) for node in stack_nodes(stack)] == [[], []]


def test_nothing_is_sent_while_a_node_is_dead(at_the_door, deploy, stack):
    """``scrapyd-deploy -a`` exits 0 here as well, and has changed the other node."""
    dead = {"NODE2_URL": "http://127.0.0.1:9/"}
    stock = run("scrapyd-deploy", "-a", cwd=at_the_door, **dead)
    assert stock.returncode == 0
    assert "Deploy failed" in stock.stderr

    _, err = deploy("push", "--version", "v7", code=1, **dead)
    assert "node2: cannot connect" in err
    assert "nothing was sent" in err
    assert "v7" not in NodeClient(stack_nodes(stack)[0]).list_versions(PROJECT)


def test_nodes_are_pushed_to_side_by_side(deploy):
    """Each of two nodes answers addversion only when the other has been asked too."""
    both = threading.Barrier(2, timeout=20)

    def add():
        both.wait()
        return 200, {"status": "ok", "spiders": 1}

    answers = {
        "/addversion.json": add,
        "/listversions.json": (200, {"status": "ok", "versions": []}),
        "/listspiders.json": (200, {"status": "ok", "spiders": SPIDERS}),
    }
    with fake_node(answers) as one, fake_node(answers) as two:
        deploy("push", NODE1_URL=one.node().url, NODE2_URL=two.node().url)


def test_a_version_is_never_overwritten(deploy, stack):
    """Scrapyd writes the new egg over the old one, also while jobs run from it."""
    client = NodeClient(stack_nodes(stack)[0])
    for word in ("one", "two"):
        assert client.add_version(PROJECT, "v1", small_egg(word)) == 1
    _, err = deploy("push", "--version", "v1", code=1)
    assert "node1: version v1 exists there already" in err
    assert NodeClient(stack_nodes(stack)[1]).list_versions(PROJECT) == []


def test_a_job_that_hears_no_signal_is_ended_where_scrapyds_ok_means_nothing(nodes, tmp_path, monkeypatch):
    """scrapyd#75, #206: cancel.json says ok, and the job runs on."""
    monkeypatch.setattr("deploy.jobs._DROP_SECONDS", 1.0)
    node = nodes[0]
    client = NodeClient(node)
    release([node], small_egg("deaf"), "v1", Withdrawals(tmp_path, None)).check()
    arguments = {"stays": "1", "deaf": "1"}
    client.start(node.project, "telling", job="deaf", version="v1", arguments=arguments, settings={})

    def says():
        entries = [one for one in client.list_jobs(node.project)["running"] if one["log_url"]]
        return entries and "I am deaf" in client.job_log(entries[0])

    eventually(says)
    process = psutil.Process(client.list_jobs(node.project)["running"][0]["pid"])
    assert client.cancel(node.project, "deaf", "INT") == "running"
    assert client.cancel(node.project, "deaf", "INT") == "running"
    assert client.status("deaf") == "running"
    assert cancel([node], [Job(node.name, "deaf", "telling", "running")], wait_seconds=0.5).done == {
        node.name: ["deaf"]
    }
    assert not process.is_running()
    assert client.status("deaf") == "finished"


@pytest.mark.soak
def test_of_two_pushes_of_one_version_at_once_one_wins_on_all_nodes(at_the_door, stack, tmp_path):
    other = copy_checkout(tmp_path / "other")
    shutil.copytree(at_the_door / ".local", other / ".local")
    both = {at_the_door: "mine", other: "yours"}
    for directory, word in both.items():
        spider = f"import scrapy\nclass S(scrapy.Spider):\n    name = {word!r}\n"
        (directory / "spiders_project/spiders/extra.py").write_text(spider)
    push = ("python", "-m", "deploy", "push", "--version", "v1")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda directory: run(*push, cwd=directory), both))
    assert sorted(one.returncode for one in done) == [0, 1], [one.stderr for one in done]
    loser = next(one for one in done if one.returncode)
    assert "nothing was sent" in loser.stderr
    winner = next(word for word, one in zip(both.values(), done, strict=True) if not one.returncode)
    for node in stack_nodes(stack):
        listed = NodeClient(node).list_spiders(PROJECT, "v1")
        assert {"mine", "yours"} & set(listed) == {winner}


def test_the_version_is_always_sent_and_is_the_newest_by_time(deploy):
    """scrapyd#66: Scrapyd itself would take v9 here."""
    versions = ["1796067001-aaaaaaaa", "1796067002-bbbbbbbb", "v9"]
    answers = {
        "/listversions.json": (200, {"status": "ok", "versions": versions}),
        "/schedule.json": (200, {"status": "ok", "jobid": "x"}),
    }
    with fake_node(answers) as fake:
        out, _ = deploy("schedule", "site", "-t", "node1", "--json", NODE1_URL=fake.node().url)
    assert json.loads(out)["version"] == "1796067002-bbbbbbbb"
    assert b"_version=1796067002-bbbbbbbb" in fake.bodies[-1]
