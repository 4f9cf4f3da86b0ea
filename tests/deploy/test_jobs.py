"""Cancelling is confirmed: by the node, not by the answer to cancel.json."""

from __future__ import annotations

import pytest

from deploy.errors import DeployError, NodeError, UsageError
from deploy.jobs import Job, cancel, new_jobs, parse_pairs, schedule
from tests.deploy.fake_node import fake_node


class Worker:
    """A node with one job that ends at the nth signal; ``log`` says from which listing on its log exists."""

    def __init__(self, ends_after: int, log_from: int = 0) -> None:
        self.ends_after, self.log_from = ends_after, log_from
        self.signals: list[str] = []
        self.listed = 0

    def answers(self, fake):
        def jobs():
            self.listed += 1
            log_url = "/logs/j.log" if self.listed > self.log_from else None
            alive = [{"id": "j", "log_url": log_url}] if len(self.signals) < self.ends_after else []
            return 200, {"status": "ok", "pending": [], "running": alive, "finished": []}

        def cancel_():
            self.signals.append(fake().bodies[-1].decode().rpartition("signal=")[2])
            return 200, {"status": "ok", "prevstate": "running"}

        return {"/listjobs.json": jobs, "/cancel.json": cancel_}


def cancelled(worker: Worker, wait: float, monkeypatch):
    monkeypatch.setattr("deploy.jobs._DROP_SECONDS", 0.3)
    monkeypatch.setattr("deploy.jobs._POLL_SECONDS", 0.02)
    with fake_node({}) as fake:
        fake.answers = worker.answers(lambda: fake)
        node = fake.node("n1", username="a")
        return cancel([node, fake.node("n2")], [Job("n1", "j", "s", "running")], wait_seconds=wait)


def test_a_worker_that_ends_is_signalled_once(monkeypatch):
    worker = Worker(ends_after=1)
    assert cancelled(worker, 30, monkeypatch).done == {"n1": ["j"]}
    assert worker.signals == ["INT"]


def test_a_worker_that_does_not_end_is_told_again_and_then_killed(monkeypatch):
    worker = Worker(ends_after=3)
    assert cancelled(worker, 0.2, monkeypatch).done == {"n1": ["j"]}
    assert worker.signals == ["INT", "INT", "KILL"]


def test_a_signal_that_came_before_the_worker_could_hear_does_not_count(monkeypatch):
    """Scrapyd answers ok and the job runs on: until it has a log it has no signal handler either."""
    worker = Worker(ends_after=4, log_from=3)
    assert cancelled(worker, 30, monkeypatch).done == {"n1": ["j"]}
    assert worker.signals == ["INT"] * 4


def test_a_job_that_cannot_be_ended_is_an_error(monkeypatch):
    result = cancelled(Worker(ends_after=10**9), 0.1, monkeypatch)
    with pytest.raises(DeployError, match="n1: killed, and still listed as running: j"):
        result.check()


def test_pairs_keep_what_stands_behind_the_first_equals_sign():
    assert parse_pairs(["a=1", "b=x=y", "c="], "-a") == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(UsageError, match="-a '=1': write NAME=VALUE"):
        parse_pairs(["=1"], "-a")


def test_jobs_that_were_started_before_a_node_failed_are_named():
    answers = [(200, {"status": "ok", "jobid": "x"}), (200, {"status": "error", "message": "full"})]
    with fake_node({"/schedule.json": lambda: answers.pop(0)}) as fake:
        nodes = [fake.node("n1")]
        jobs = new_jobs(nodes, "s", workers=3)
        result = schedule(nodes, jobs, version="v")
    error = result.failed["n1"]
    assert isinstance(error, NodeError)
    first = jobs[0].id
    assert f"jobid={first}" in fake.bodies[0].decode()
    assert len(fake.bodies) == 2, "after a failure nothing more is started on that node"
    assert "full" in str(error)
    assert f"started before: {first}" in str(error)
