"""``deploy nodes``, ``drain`` and ``check`` over two real nodes, and one whose poller has died."""

from __future__ import annotations

import json
import sqlite3

import pytest

from deploy.client import NodeClient
from deploy.drains import drained
from deploy.environment import stack_nodes
from deploy.health import is_waiting, look_again, look_at
from deploy.local.scrapyd_node import ScrapydNode
from deploy.seed import redis_client
from deploy.targets import Node
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import PROJECT
from tests.deploy.eggs import small_egg

pytestmark = pytest.mark.slow


def test_nodes_shows_what_is_wrong_and_with_which_node(deploy, at_the_door, stack):
    for node in stack_nodes(stack):
        NodeClient(node).add_version(PROJECT, "v1", small_egg("fine"))
    (at_the_door / "fleet.toml").write_text('[nodes.node1]\nlabels = ["fast"]\ncapacity = 2\n')
    rows = json.loads(deploy("nodes", "--json")[0])
    assert [(row["name"], row["state"], row["version"], row["free"]) for row in rows] == [
        ("node1", "ok", "v1", 2),
        ("node2", "ok", "v1", 4),
    ]
    assert len(json.loads(deploy("nodes", "--json", "--only", "fast")[0])) == 1
    assert "its labels are fast" in deploy("nodes", "--only", "slow", code=2)[1]

    out, err = deploy("nodes", code=1, NODE1_PASSWORD="hunter2", NODE2_URL="http://127.0.0.1:9/")
    assert "node1: " in err
    assert "refused the username or password" in err
    assert "node2: cannot connect" in err
    assert "hunter2" not in out + err
    states = [line.split()[1] for line in out.splitlines()[1:]]
    assert states == ["refused", "unreachable"]
    assert rows[1]["seen_at"], "when it was last heard of is remembered"


def test_a_drained_node_says_so_until_it_is_let_go(deploy, stack):
    client = redis_client(stack.redis_url)
    deploy("drain", "node2")
    try:
        assert list(drained(client)) == ["node2"]
        assert [row["state"] for row in json.loads(deploy("nodes", "--json")[0])] == ["ok", "drained"]
    finally:
        deploy("drain", "node2", "--off")
    assert drained(client) == {}
    assert "no target 'nowhere'" in deploy("drain", "nowhere", code=2)[1]


def test_check_finds_no_fault_with_the_embedded_stack_and_names_a_stranger(deploy):
    out, _ = deploy("check")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["node1", "0"], ["node2", "0"]]
    _, err = deploy("check", code=1, NODE2_USERNAME="", NODE2_PASSWORD="wrong")
    assert "node2 runs no egg: " in err


@pytest.fixture
def lame_node(server_directory):
    """A node whose poller has died: one entry of its queue could not be read."""
    node = ScrapydNode(server_directory / "node9", name="node9")
    node.start()
    target = Node("node9", node.url, username=node.username, password=node.password)
    NodeClient(target).add_version(PROJECT, "v1", small_egg("fine"))
    with sqlite3.connect(node.directory / f"dbs/{PROJECT}.db") as queue:
        queue.execute("INSERT INTO spider_queue (priority, message) VALUES (9, '{}')")
    queue.close()
    eventually(lambda: "Unhandled" in node.log.read_text() or "KeyError" in node.log.read_text())
    yield target
    node.stop()


def test_a_dead_poller_is_told_from_a_full_node(lame_node):
    """scrapyd#543, scrapyd#279: daemonstatus says ok for ever."""
    client = NodeClient(lame_node)
    client.start(PROJECT, "telling", job="waits", version="v1", arguments={}, settings={})
    assert client.daemon_status()["pending"] == 1
    looks = look_again([lame_node], {"node9": 4}, patience=2)  # four polls of the embedded stack's nodes
    samples = looks.samples["node9"]
    assert len(samples) == 3
    assert is_waiting(samples, 4)
    assert not is_waiting([look_at(lame_node)], 0), "a node without free slots may keep jobs waiting"
