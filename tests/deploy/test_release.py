"""A release over many nodes: all at once, and all or nothing also when it is interrupted."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from deploy.release import release
from deploy.withdrawals import Withdrawals
from tests.deploy.fake_node import fake_node

EVERYTHING = {"status": "ok", "versions": [], "spiders": ["site"], "projects": []}


def farm(fake, count):
    """So many nodes behind one address, as behind one proxy."""
    return [replace(fake.node(prefix=f"/n{number}/"), name=f"n{number}") for number in range(count)]


def test_fifty_nodes_are_asked_at_once_in_every_step(tmp_path):
    """scrapyd-client#10. Each answer waits until all fifty have been asked: one after the other would never end."""
    all_of_them = threading.Barrier(50, timeout=60)

    def answer():
        all_of_them.wait()
        return 200, EVERYTHING

    told = []
    with fake_node({"*": answer}) as fake:
        nodes = farm(fake, 50)
        outcome = release(nodes, b"egg", "v1", Withdrawals(tmp_path, None), progress=told.append)
    outcome.check()
    assert outcome.on == [node.name for node in nodes]
    assert len(fake.asked) == 3 * 50, "each node is asked for its versions, gets the egg, and lists its spiders"
    assert told[-1].endswith("has it (50 of 50)")


def test_an_interrupted_release_is_taken_back(tmp_path):
    versions = []

    def versions_():
        return 200, {**EVERYTHING, "versions": list(versions)}

    def add():
        versions.append("v1")
        return 200, EVERYTHING

    def delete():
        versions.remove("v1")
        return 200, EVERYTHING

    def interrupt(text):
        if "has it" in text:
            raise KeyboardInterrupt

    jobs = {"status": "ok", "pending": [], "running": [], "finished": []}
    answers = {"/listversions.json": versions_, "/addversion.json": add, "/delversion.json": delete}
    answers |= {"/listjobs.json": (200, jobs), "*": (200, EVERYTHING)}
    with fake_node(answers) as fake, pytest.raises(KeyboardInterrupt):
        release([fake.node()], b"egg", "v1", Withdrawals(tmp_path, None), progress=interrupt)
    assert versions == []


def test_a_node_is_warned_about_where_another_version_sorts_behind(tmp_path):
    with fake_node((200, {**EVERYTHING, "versions": ["v9"]})) as fake:
        fake.answers["/listjobs.json"] = (200, {"status": "ok", "pending": [], "running": [], "finished": []})
        outcome = release([fake.node("n1")], b"egg", "1796067001-aaaaaaaa", Withdrawals(tmp_path, None))
    assert outcome.shadowed == {"n1": "v9"}
