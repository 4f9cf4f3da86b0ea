"""How a job stands, by what its node lists and what it wrote itself."""

from __future__ import annotations

import pytest

from deploy.errors import NodeUnreachable
from deploy.fanout import FanOut
from deploy.jobs import Job
from deploy.outcomes import Outcome, gather
from spiders_project.jobs import store
from spiders_project.jobs.record import JobRecord

NODE_SAYS = {None: None, **{state: Job("n1", "j", "site", state) for state in ("pending", "running", "finished")}}
RECORD = {
    "none": None,
    "alive": JobRecord(id="j", node="n1", alive=True, seen_at=2.0),
    "silent": JobRecord(id="j", node="n1", seen_at=2.0),
    "finished": JobRecord(id="j", state="finished", reason="finished", ended_at=3.0),
    "failed": JobRecord(id="j", state="failed", reason="not_opened", ended_at=3.0),
    "died": JobRecord(id="j", state="died", ended_at=2.0),
}


@pytest.mark.parametrize(
    ("record", "node_says", "node_answers", "state"),
    [
        ("none", "pending", True, "pending"),
        ("none", "running", True, "running"),
        ("none", "finished", True, "finished"),
        ("alive", "running", True, "running"),
        ("alive", None, False, "running"),
        ("alive", None, True, "orphan"),
        ("alive", "finished", True, "died"),
        ("silent", "running", True, "silent"),
        ("silent", None, False, "silent"),
        ("silent", "finished", True, "died"),
        ("silent", None, True, "died"),
        ("finished", "running", True, "finished"),
        ("finished", None, False, "finished"),
        ("failed", "finished", True, "failed"),
        ("died", None, True, "died"),
    ],
)
def test_the_state_of_a_job(record, node_says, node_answers, state):
    outcome = Outcome(NODE_SAYS[node_says], RECORD[record], node_answers=node_answers)
    assert outcome.state == state
    assert outcome.failed == (state in {"failed", "died", "silent"})
    assert (outcome.ended_at is None) == (record == "none" or state in {"running", "orphan"})


def test_jobs_of_nodes_and_of_records_become_one_list(redis_client):
    facts = {"node": "n1", "spider": "site", "lease": 60}
    for job, age, state in (("old", 9100, "finished"), ("both", 50, "running"), ("orphan", 9000, "running")):
        store.write(redis_client, job, state, facts, process="1@1", age=age, keep_seconds=99999)
    store.write(redis_client, "away", "running", {**facts, "node": "n2"}, process="1@1", age=60, keep_seconds=99)
    now = store.get(redis_client, "both").seen_at
    listed = FanOut({"n1": [Job("n1", "both", "site", "running"), Job("n1", "curl", "site", "pending")]})
    listed.failed["n2"] = NodeUnreachable("n2: away")

    def states(**options):
        return {one.id: one.state for one in gather(listed, redis_client, **options)}

    everything = {"old": "finished", "orphan": "orphan", "away": "running", "both": "running", "curl": "pending"}
    assert states() == everything
    assert list(states()) == list(everything), "in the order of their start"
    assert states(since=now - 3600, records_since=now - 3600) == {k: v for k, v in everything.items() if k != "old"}
    assert states(nodes=["n1"]).keys() == everything.keys() - {"away"}
    assert {one.id for one in gather(listed, None)} == {"both", "curl"}


def test_json_has_what_the_node_lists_and_what_is_known_beyond_it():
    found = Outcome(Job("n1", "j", "site", "finished", pid=7, log_url="/logs/x"), RECORD["failed"]).as_json()
    assert (found["state"], found["reason"], found["pid"], found["log_url"]) == ("failed", "not_opened", 7, "/logs/x")
    assert found["record"]["ended_at"] == "1970-01-01T00:00:03+00:00"
    bare = Outcome(Job("n1", "j", "site", "finished", start_time="2026-11-30 22:00:00.123"), None).as_json()
    assert (bare["reason"], bare["record"], bare["start_time"]) == ("no record", None, "2026-11-30 22:00:00.123")
