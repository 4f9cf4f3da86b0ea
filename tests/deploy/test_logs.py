"""A job's log by ranges: its end, what grows, and what nodes and proxies do to it."""

from __future__ import annotations

import re

import pytest

from deploy import logs
from deploy.errors import DeployError, NodeError, NodeUnreachable
from deploy.logs import JobLog, find_log, follow
from deploy.records import JobRecord
from tests.deploy.fake_node import fake_node

LINES = b"".join(b"line %d\n" % number for number in range(200))


class Served:
    """A node that serves one log as Twisted does; ``knows_ranges=False`` as some proxies do."""

    def __init__(self, text: bytes, *, knows_ranges: bool = True) -> None:
        self.text = text
        self.knows_ranges = knows_ranges

    def answers(self, fake):
        def log():
            text, asked = self.text.decode(), fake().headers[-1].get("Range")
            if not asked or not self.knows_ranges:
                return 200, text
            start, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", asked).groups())
            if start >= len(text):
                return 416, "", {"Content-Range": f"bytes */{len(text)}"}
            return 206, text[start : end + 1]

        return {"/logs/p/site/j.log": log, "*": (404, "")}


@pytest.fixture
def served():
    """``served(text)``: the node, and its log."""
    with fake_node({}) as fake:

        def serve(text, **options):
            node = Served(text, **options)
            fake.answers = node.answers(lambda: fake)
            return node, JobLog(fake.node("n1"), "p", "site", "j")

        yield serve


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("block", [64, 10_000])
@pytest.mark.parametrize(("lines", "expected"), [(1, 1), (9, 9), (199, 199), (200, 200), (500, 200), (0, 0)])
def test_the_last_lines_are_found_from_the_end(served, monkeypatch, ranges, block, lines, expected):
    monkeypatch.setattr(logs, "BLOCK", block)
    _, log = served(LINES, knows_ranges=ranges)
    assert LINES[log.start_of_tail(lines) :].count(b"\n") == expected


def test_a_last_line_that_is_not_complete_counts(served):
    _, log = served(b"a\nb\nc")
    assert log.start_of_tail(1) == 4
    assert log.start_of_tail(2) == 2
    _, log = served(b"")
    assert log.start_of_tail(3) == 0


def test_a_log_is_followed_until_its_job_ends_and_what_it_said_last_is_read(served):
    node, log = served(b"one\n")
    turns = iter([True, True, True, False])

    def runs():
        going_on = next(turns, None)
        if going_on is not None:
            node.text += b"more\n"
        return going_on

    said = []
    assert b"".join(follow(log, 0, runs, said.append, poll_seconds=0)) == b"one\n" + 4 * b"more\n"
    assert said == []


def test_a_log_that_begins_anew_is_read_from_its_start(served):
    node, log = served(b"old\n" * 10)
    turns = iter([True, True, False])
    said, read = [], []
    for block in follow(log, 0, lambda: next(turns, False), said.append, poll_seconds=0):
        read.append(block)
        node.text = b"new\n"
    assert read == [b"old\n" * 10, b"new\n"]
    assert said == ["the log begins anew"]


def test_a_node_that_falls_silent_is_waited_for_while_its_job_runs(served, monkeypatch):
    _, log = served(b"one\n")
    turns = iter([True, True, True, False])
    answers = iter([NodeUnreachable("n1: away"), NodeUnreachable("n1: away"), 4, 4, 4])

    def size():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(log, "size", size)
    said = []
    assert b"".join(follow(log, 0, lambda: next(turns, False), said.append, poll_seconds=0)) == b"one\n"
    assert said == ["n1: away; waiting"]


def test_a_log_is_found_by_the_record_where_the_node_has_forgotten_the_job(served):
    record = JobRecord(id="j", node="n1", project="p", spider="site")
    _, log = served(b"text")
    with fake_node((404, "")) as other:
        nodes = [other.node("n0"), log.node]
        assert find_log(nodes, "j", record).node.name == "n1"
        other.answers = {"/status.json": (200, {"status": "ok", "currstate": None}), "*": (404, "")}
        elsewhere = JobRecord(id="k", node="n0", project="p", spider="site")
        with pytest.raises(DeployError, match="the log of job k is on none of n0: the node has deleted it"):
            find_log(nodes[:1], "k", elsewhere)


def test_a_job_that_waits_has_no_log_yet_and_can_be_followed():
    listing = {"status": "ok", "pending": [{"id": "j", "spider": "site"}], "running": [], "finished": []}
    answers = {
        "/listprojects.json": (200, {"status": "ok", "projects": ["spiders_project"]}),
        "/listjobs.json": (200, listing),
        "/status.json": (200, {"status": "ok", "currstate": "pending"}),
        "*": (404, ""),
    }
    with fake_node(answers) as fake:
        log = find_log([fake.node("n1")], "j", None)
        assert (log.size(), log.start_of_tail(5), log.is_listed()) == (None, 0, True)
        with pytest.raises(DeployError, match="no node lists job x, and it left no record"):
            find_log([fake.node("n1")], "x", None)


def test_an_answer_that_is_no_log_is_named(served):
    with fake_node((502, "a proxy")) as fake:
        log = JobLog(fake.node("n1"), "p", "site", "j")
        with pytest.raises(NodeError, match="n1: the log of job j: HTTP 502"):
            log.size()
        with pytest.raises(NodeError, match=r"gone \(HTTP 502\)"):
            log.read(0)
