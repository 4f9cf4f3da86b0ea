"""What is said of a node: from looks at it and from its workers' heartbeats."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deploy.errors import NodeError, NodeUnreachable
from deploy.fleet import NodeSpec
from deploy.health import Looks, Sample, judge, look_again, poller_is_stuck
from deploy.targets import Node
from tests.deploy.fake_node import fake_node

NODE = Node("n1", "http://127.0.0.1:9/")


def sample(at=0.0, pending=(), running=(), **fields):
    return Sample(at=at, versions=("v1",), pending=tuple(pending), running=tuple(running), finished=0, **fields)


def beat(job, *, node="n1", alive=True, load=0.5, memory=10**8, seen_at=1000.0):
    return SimpleNamespace(id=job, node=node, alive=alive, load=load, memory=memory, seen_at=seen_at)


def judged(samples, beats=(), **more):
    return judge(NODE, Looks({"n1": list(samples)}, {}), NodeSpec(capacity=4), beats, **more)


@pytest.mark.parametrize(
    ("samples", "stuck"),
    [
        ([sample(0, ["a"]), sample(6, ["a"]), sample(12, ["a"])], True),
        ([sample(0, ["a"], ["x"]), sample(12, ["a", "b"], ["x"])], True),
        ([sample(0, ["a"]), sample(3, ["a"])], False),  # Scrapyd may poll every 5 s
        ([sample(0, ["a"]), sample(12, ["b"])], False),  # it took one
        ([sample(0, ["a"]), sample(12, [], ["a"])], False),
        ([sample(0, ["a", "b"]), sample(12, ["b"], ["a"])], False),
        ([sample(0, ["a"], "wxyz"), sample(12, ["a"], "wxyz")], False),  # it is full
        ([sample(0), sample(12)], False),
    ],
)
def test_a_poller_is_stuck_when_a_job_waits_beside_free_slots_for_several_polls(samples, stuck):
    """scrapyd#543: one failed poll ends all polling, and daemonstatus goes on to say ok."""
    assert poller_is_stuck(samples, 4) is stuck
    assert ("the poller is stuck" in str(judged(samples).problems)) is stuck


def test_jobs_of_which_scrapyd_knows_nothing_are_orphans():
    """scrapyd#12: a restart forgets what runs."""
    beats = [beat("lost"), beat("known"), beat("ended", alive=False), beat("elsewhere", node="n2")]
    health = judged([sample(running=["known"])], beats)
    assert health.problems == [
        "1 orphan: Scrapyd was restarted and has forgotten them, and they run on: lost",
    ]
    assert health.state == "faulty"


@pytest.mark.parametrize(("off", "said"), [(7.0, "7 s ahead of"), (-3600.0, "3600 s behind"), (4.4, ""), (None, "")])
def test_a_clock_that_is_off_by_more_than_five_seconds_is_named(off, said):
    problems = judged([sample(clock_off=off)]).problems
    assert said in str(problems)
    assert bool(problems) is bool(said)


def test_load_is_the_newest_and_memory_the_sum_of_what_its_workers_say():
    health = judged([sample(running=["a", "b"])], [beat("a", load=9.0, seen_at=1.0), beat("b"), beat("c", node="n2")])
    assert (health.load, health.memory, health.workers) == (0.5, 2 * 10**8, 2)
    assert (health.free, health.state, health.problems) == (2, "ok", [])


def test_a_drained_node_is_no_fault():
    assert judged([sample()], drained=True).state == "drained"


def test_an_unreachable_node_whose_workers_live_is_not_dead():
    looks = Looks({}, {"n1": NodeUnreachable("n1: cannot connect")})
    health = judge(NODE, looks, NodeSpec(), [beat("a", seen_at=1234.0)], last_seen=1000.0)
    assert health.state == "unreachable"
    assert health.problems == ["cannot connect", "1 worker of it live all the same, and are left alone"]
    assert health.seen_at == 1234.0
    refused = Looks({}, {"n1": NodeError("n1: refused the password")})
    assert judge(NODE, refused, NodeSpec(), []).state == "refused"


def test_only_nodes_that_keep_jobs_waiting_are_looked_at_again():
    lists = {"status": "ok", "running": [], "finished": [], "versions": []}
    with (
        fake_node((200, {**lists, "pending": []})) as idle,
        fake_node((200, {**lists, "pending": [{"id": "a"}]})) as busy,
    ):
        nodes = [idle.node("idle"), busy.node("busy")]
        looks = look_again(nodes, {"idle": 4, "busy": 4}, patience=0.05)
    assert {name: len(samples) for name, samples in looks.samples.items()} == {"idle": 1, "busy": 3}
    assert abs(looks.samples["idle"][0].clock_off) < 2, "from the Date header of the answer"
