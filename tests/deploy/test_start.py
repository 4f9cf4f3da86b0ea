"""Starting a crawl is all or nothing: what fails half way leaves no job behind."""

from __future__ import annotations

import pytest

from deploy.crawl import Plan, start
from deploy.errors import DeployError
from tests.deploy.fake_node import fake_node

OK = (200, {"status": "ok", "jobid": "x"})


def willing():
    """A node that starts a job, runs it, and ends it when it is cancelled."""
    jobs: list[str] = []

    def answers(fake):
        def schedule():
            jobs.append(fake().bodies[-1].decode().partition("jobid=")[2].partition("&")[0])
            return OK

        def cancel():
            jobs.clear()
            return 200, {"status": "ok", "prevstate": "running"}

        def listing():
            running = [{"id": job, "log_url": "/x"} for job in jobs]
            return 200, {"status": "ok", "pending": [], "running": running, "finished": []}

        return {"/schedule.json": schedule, "/cancel.json": cancel, "/listjobs.json": listing}

    return jobs, answers


@pytest.mark.parametrize(
    ("refusal", "seeds", "complaint"),
    [
        ((200, {"status": "error", "message": "spider 'site' not found"}), ("http://a.example/",), "not found"),
        (None, ("http://a.example/", "nonsense"), "'nonsense' is no seed"),
    ],
)
def test_nothing_runs_on_when_a_node_or_a_seed_refuses(redis_client, refusal, seeds, complaint):
    jobs, answers = willing()
    with fake_node({}) as one, fake_node({}) as two:
        one.answers = answers(lambda: one)
        two.answers = willing()[1](lambda: two)
        if refusal:
            two.answers["/schedule.json"] = refusal
        said: list[str] = []
        plan = Plan("site", seeds, (one.node("n1"), two.node("n2")))
        with pytest.raises(DeployError, match=complaint):
            start(plan, "v", redis_client, said.append)
    assert jobs == []
    assert "POST /cancel.json" in one.asked
