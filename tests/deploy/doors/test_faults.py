"""What the stock tools get wrong, shown, and what ours does with the same node."""

from __future__ import annotations

import json
import threading

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from tests.deploy.doors.conftest import PROJECT, run
from tests.deploy.fake_node import fake_node

pytestmark = pytest.mark.slow


def deploy(*args, cwd, **env):
    return run("python", "-m", "deploy", *args, cwd=cwd, **env)


def test_an_egg_that_a_node_cannot_list_fails_the_push_where_scrapyd_deploy_exits_0(at_the_door, stack):
    """scrapyd-client#30: Scrapyd says status: error with HTTP 200."""
    (at_the_door / "spiders_project/spiders/broken.py").write_text("import no_such_package\n")
    stock = run("scrapyd-deploy", "node1", cwd=at_the_door)
    assert '"status": "error"' in stock.stdout
    assert stock.returncode == 0

    ours = deploy("push", "--version", "bad-1", cwd=at_the_door)
    assert ours.returncode == 1
    assert "2 of 2 nodes failed" in ours.stderr
    assert "no_such_package" in ours.stderr
    for node in stack_nodes(stack):
        assert f"{node.name}: addversion.json" in ours.stderr
        assert "bad-1" in NodeClient(node).list_versions(PROJECT), "Scrapyd keeps what it cannot list"
    assert "half released: it is on node1, node2" in ours.stderr


def test_one_dead_node_fails_the_push_and_the_other_is_named_as_holding_it(at_the_door, stack):
    """``scrapyd-deploy -a`` exits 0 here as well."""
    dead = {"NODE2_URL": "http://127.0.0.1:9/"}
    stock = run("scrapyd-deploy", "-a", cwd=at_the_door, **dead)
    assert stock.returncode == 0
    assert "Deploy failed" in stock.stderr

    ours = deploy("push", "--version", "v7", cwd=at_the_door, **dead)
    assert ours.returncode == 1
    assert "node2: cannot connect" in ours.stderr
    assert "half released: it is on node1" in ours.stderr


def test_one_build_for_all_nodes_where_scrapyd_deploy_builds_for_each(at_the_door):
    """scrapyd-client#10."""
    setup = at_the_door / "setup.py"
    setup.write_text("import sys\nif 'bdist_egg' in sys.argv: open('builds', 'a').write('x')\n" + setup.read_text())
    builds = at_the_door / "builds"
    assert run("scrapyd-deploy", "-a", cwd=at_the_door).returncode == 0
    assert builds.read_text() == "xx"
    builds.unlink()
    assert deploy("push", cwd=at_the_door).returncode == 0
    assert builds.read_text() == "x"


def test_nodes_are_pushed_to_side_by_side(at_the_door):
    """Each of two nodes answers addversion only when the other has been asked too."""
    both = threading.Barrier(2, timeout=20)

    def add():
        both.wait()
        return 200, {"status": "ok", "spiders": 1}

    answers = {
        "/addversion.json": add,
        "/listversions.json": (200, {"status": "ok", "versions": []}),
        "/listspiders.json": (200, {"status": "ok", "spiders": ["site"]}),
    }
    with fake_node(answers) as one, fake_node(answers) as two:
        done = deploy("push", cwd=at_the_door, NODE1_URL=one.node().url, NODE2_URL=two.node().url)
    assert done.returncode == 0, done.stderr


def test_a_version_is_never_overwritten(at_the_door):
    assert deploy("push", "--version", "v1", "-t", "node1", cwd=at_the_door).returncode == 0
    again = deploy("push", "--version", "v1", "-t", "node1", cwd=at_the_door)
    assert again.returncode == 1
    assert "exists there already" in again.stderr


def test_the_version_is_always_sent_and_is_the_newest_by_time(at_the_door):
    """scrapyd#66: Scrapyd itself would take v9 here."""
    versions = ["1796067001-aaaaaaaa", "1796067002-bbbbbbbb", "v9"]
    answers = {
        "/listversions.json": (200, {"status": "ok", "versions": versions}),
        "/schedule.json": (200, {"status": "ok", "jobid": "x"}),
    }
    with fake_node(answers) as fake:
        done = deploy("schedule", "site", "-t", "node1", "--json", cwd=at_the_door, NODE1_URL=fake.node().url)
    assert json.loads(done.stdout)["version"] == "1796067002-bbbbbbbb"
    assert b"_version=1796067002-bbbbbbbb" in fake.bodies[-1]
