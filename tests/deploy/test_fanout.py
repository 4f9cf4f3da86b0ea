from __future__ import annotations

import threading

import pytest

from deploy.errors import ConnectError, DeployError, NodeError, NodeUnreachable
from deploy.fanout import MAX_THREADS, fan_out
from deploy.targets import Node

NODES = [Node(f"n{i}", "http://127.0.0.1:1/") for i in range(3)]


def test_nodes_are_worked_on_side_by_side():
    together = threading.Barrier(3, timeout=10)
    assert fan_out(NODES, lambda node: (together.wait(), node.name)[1]).done == {"n0": "n0", "n1": "n1", "n2": "n2"}


def test_thousands_of_nodes_are_no_thousands_of_threads():
    most, now, lock = 0, 0, threading.Lock()

    def work(_: Node) -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1

    fan_out([Node(f"n{i}", "") for i in range(500)], work)
    assert most <= MAX_THREADS


def test_one_failure_keeps_its_neighbours_results_and_is_named():
    def work(node: Node) -> int:
        if node.name == "n1":
            raise NodeError("n1: broken")
        return 1

    result = fan_out(NODES, work)
    assert result.done == {"n0": 1, "n2": 1}
    with pytest.raises(DeployError, match="1 of 3 nodes failed\nn1: broken") as caught:
        result.check()
    assert caught.value.exit_code == 1


def test_cannot_connect_is_said_only_when_no_node_at_all_is_there():
    def dead(node: Node) -> None:
        raise NodeUnreachable(f"{node.name}: dead")

    with pytest.raises(ConnectError):
        fan_out(NODES, dead).check()
    with pytest.raises(DeployError) as caught:
        fan_out(NODES, lambda node: dead(node) if node.name == "n0" else 1).check()
    assert caught.value.exit_code == 1


def test_a_bug_is_not_taken_for_a_failing_node():
    with pytest.raises(ZeroDivisionError):
        fan_out(NODES, lambda _: 1 // 0)


def test_no_nodes_no_work():
    assert fan_out([], lambda _: 1).done == {}
