"""From what is wanted and what is to what is done; no server."""

from __future__ import annotations

import pytest

from deploy.supervisor.decide import decide
from deploy.supervisor.records import Vacancy
from tests.deploy.supervisor.worlds import (
    LIMITS,
    NOW,
    decided,
    job,
    node,
    seen,
    signals,
    starts,
    status,
    wanted,
    worker,
    world,
)


def test_as_many_workers_as_are_wanted_are_spread_over_the_nodes():
    decision = decided(world([node("n1"), node("n2")], [wanted(workers=4)]))
    assert starts(decision) == ["n1", "n2", "n1", "n2"]
    assert {placed.version for placed, _ in decision.starts} == {"v"}
    assert set(decision.placed) == {"new1", "new2", "new3", "new4"}, "each is recorded before its node hears of it"


def test_what_runs_as_wanted_is_left_alone():
    decision = decided(world([node("n1", running=["j"])], [wanted()], [job("j")], beating=("j",)))
    assert [decision.starts, decision.signals, decision.events, decision.ends] == [[], [], [], {}]


@pytest.mark.parametrize(
    ("name", "nodes", "beating", "signalled"),
    [
        ("its process ended, though its heartbeat is fresh", [node("n1", finished=["j"]), node("n2")], ("j",), {}),
        ("the node forgot it, and no heartbeat", [node("n1"), node("n2")], (), {}),
        ("its node is silent, and no heartbeat", [node("n1", error="away", silent_for=9), node("n2")], (), {}),
        ("it never started", [node("n1", pending=["j"]), node("n2")], (), {"j": "INT"}),
        ("it never sent a heartbeat", [node("n1", running=["j"]), node("n2")], (), {"j": "INT"}),
        ("its node is drained", [node("n1", running=["j"], drained=True), node("n2")], ("j",), {"j": "INT"}),
    ],
)
def test_a_worker_that_is_lost_is_replaced_elsewhere_at_once(name, nodes, beating, signalled):
    decision = decided(world(nodes, [wanted()], [job("j")], beating=beating))
    assert starts(decision) == ["n2"], name
    assert signals(decision) == signalled


def test_a_worker_whose_heartbeat_stopped_is_told_then_killed_and_replaced_meanwhile():
    hung = status(worker("j", seen=NOW - 11))
    decision = decided(world([node("n1", running=["j"]), node("n2")], [wanted()], [job("j")], statuses={"c": hung}))
    assert starts(decision) == ["n2"]
    assert signals(decision) == {"j": "INT"}
    later = decision.placed["j"].but(stop_at=NOW - LIMITS.drop - 1, signalled_at=NOW - 5)
    again = decided(
        world([node("n1", running=["j"]), node("n2", running=["new1"])], [wanted()], [later, job("new1", "n2")]
              , statuses={"c": status(worker("j", seen=NOW - 21), worker("new1"))})
    )  # fmt: skip
    assert signals(again) == {"j": "KILL"}
    assert starts(again) == []


def test_a_worker_declared_dead_by_the_others_is_not_taken_for_one_that_left():
    gone = status(worker("j", seen=0))
    decision = decided(
        world([node("n1", running=["j"])], [wanted()], [job("j")], statuses={"c": gone}, beats={"j": NOW - 11})
    )
    assert signals(decision) == {"j": "INT"}
    left = decided(world([node("n1", running=["j"])], [wanted()], [job("j")], statuses={"c": gone}, beats={"j": NOW}))
    assert signals(left) == {}
    assert left.placed["j"].left_at == NOW


@pytest.mark.parametrize(
    ("name", "nodes", "jobs", "beating"),
    [
        ("unreachable, and its worker beats", [node("n1", error="cut", silent_for=99), node("n2")], [job("j")], ("j",)),
        ("silent for a moment", [node("n1", error="slow", silent_for=2), node("n2")], [job("j")], ()),
        ("Scrapyd was restarted, its worker beats", [node("n1"), node("n2")], [job("j")], ("j",)),
        ("just scheduled, not listed yet", [node("n1"), node("n2")], [job("j", at=NOW - 1, running_at=None)], ()),
        ("starting", [node("n1", running=["j"]), node("n2")], [job("j", at=NOW - 5)], ()),
    ],
)
def test_a_worker_that_may_live_is_not_doubled(name, nodes, jobs, beating):
    decision = decided(world(nodes, [wanted()], jobs, beating=beating))
    assert starts(decision) == [], name
    assert signals(decision) == {}


def test_a_job_that_ended_without_a_word_is_told_of_and_one_that_said_goodbye_is_not():
    crashed = decided(world([node("n1", finished=["j"])], [wanted()], [job("j")]))
    assert [(placed.id, why) for placed, why in crashed.died] == [("j", "its process ended")]
    left = status(worker("j", seen=0))
    of = world([node("n1", finished=["j"])], [wanted()], [job("j")], statuses={"c": left}, beats={"j": NOW - 1})
    assert decided(of).died == []


def test_a_job_on_a_node_that_scrapy_cfg_has_no_more_is_replaced_when_its_heartbeat_is_gone():
    assert starts(decided(world([node("n2")], [wanted()], [job("j")]))) == ["n2"]
    alive = decided(world([node("n2")], [wanted()], [job("j")], beating=("j",)))
    assert starts(alive) == []
    assert "scrapy.cfg has no node n1" in alive.seen["c"].problems[0]


def test_after_an_outage_of_redis_a_missing_heartbeat_says_nothing():
    silent = status(worker("j", seen=NOW - 60))
    of = world([node("n1", running=["j"]), node("n2")], [wanted()], [job("j")], statuses={"c": silent}, judging=False)
    assert starts(decided(of)) == []


def test_a_worker_that_died_on_a_node_that_answers_is_replaced_even_then():
    of = world([node("n1", finished=["j"]), node("n2")], [wanted()], [job("j")], judging=False)
    assert starts(decided(of)) == ["n2"]


def test_a_job_over_its_timeout_is_ended_and_replaced():
    old = job("j", at=NOW - 200)
    of = world([node("n1", running=["j"]), node("n2")], [wanted(timeout=100.0)], [old], beating=("j",))
    decision = decided(of)
    assert signals(decision) == {"j": "INT"}
    assert starts(decision) == ["n2"]


def test_jobs_over_a_long_timeout_are_not_replaced_for_ever():
    old = job("j", at=NOW - 200, attempt=2)
    decision = decided(
        world([node("n1", running=["j"])], [wanted(timeout=100.0, retries=2)], [old], beating=("j",)),
    )
    assert (decision.seen["c"].given_up, starts(decision)) == (1, [])


@pytest.mark.parametrize(("attempt", "pause"), [(0, 0), (1, 2), (2, 4), (3, 8), (9, 60)])
def test_one_that_fails_at_once_is_replaced_later_and_later(attempt, pause):
    crashed = job("j", at=NOW - 3, attempt=attempt)
    decision = decided(world([node("n1", finished=["j"])], [wanted(retries=10)], [crashed]))
    if pause:
        assert starts(decision) == []
        assert decision.seen["c"].vacancies == [Vacancy(attempt=attempt + 1, due=NOW + pause, avoid=["n1"])]
        assert "crash-looping" in decision.seen["c"].problems[0]
    else:
        assert starts(decision) == ["n1"]
        assert decision.starts[0][0].attempt == attempt + 1


def test_one_that_ran_for_long_before_it_failed_begins_anew():
    crashed = job("j", at=NOW - 200, attempt=4)
    [(placed, _)] = decided(world([node("n1", finished=["j"])], [wanted(retries=4)], [crashed])).starts
    assert placed.attempt == 1


def test_a_node_that_dies_is_no_fault_of_its_workers():
    lost = job("j", at=NOW - 30, attempt=2)
    of = world([node("n1", error="away", silent_for=20), node("n2")], [wanted(retries=2)], [lost])
    [(placed, _)] = decided(of).starts
    assert placed.attempt == 2


def test_a_crawl_whose_workers_fail_too_often_in_a_row_has_failed():
    crashed = job("j", at=NOW - 3, attempt=5)
    first = decided(world([node("n1", finished=["j"])], [wanted(retries=5)], [crashed]))
    assert first.starts == []
    assert first.ends["c"][0] == "failed"
    assert "crash-looping" in first.ends["c"][1]
    assert first.seen["c"].failures[0].job == "j"


def test_one_place_given_up_leaves_the_others_their_workers():
    crashed = job("j", at=NOW - 3, attempt=5)
    of = world(
        [node("n1", finished=["j"], running=["k"])], [wanted(workers=2, retries=5)], [crashed, job("k")], beating=("k",)
    )
    decision = decided(of)
    assert [decision.starts, decision.signals, decision.ends] == [[], [], {}]
    assert decision.seen["c"].given_up == 1


def test_a_crawl_that_is_done_is_not_restarted():
    over = status(worker("j", seen=0), state="finished")
    of = world([node("n1", finished=["j"])], [wanted()], [job("j")], statuses={"c": over}, beats={"j": NOW - 1})
    decision = decided(of)
    assert decision.starts == []
    assert decision.ends == {"c": ("done", "finished")}


def test_an_end_from_before_the_start_is_not_this_runs_end():
    old = status(state="finished", ended_at=NOW - 600)
    assert starts(decided(world([node("n1")], [wanted()], statuses={"c": old}))) == ["n1"]


def test_workers_that_wait_for_seeds_are_kept_up_also_when_the_frontier_is_empty():
    over = status(state="finished")
    of = world([node("n1", finished=["j"]), node("n2")], [wanted()], [job("j")], statuses={"c": over})
    # It never said that it leaves.
    assert starts(decided(of)) == ["n2"]


def test_workers_that_close_at_the_end_are_not_replaced_when_one_crashes_there():
    over = status(worker("k"), state="finished")
    crawl = wanted(workers=2, settings={"MAX_IDLE_TIME_BEFORE_CLOSE": "5"})
    of = world([node("n1", finished=["j"], running=["k"])], [crawl], [job("j"), job("k")], statuses={"c": over})
    decision = decided(of)
    assert decision.starts == []
    assert decision.ends == {}, "one still closes"


def test_workers_that_close_because_there_is_nothing_to_do_are_done():
    crawl = wanted(settings={"MAX_IDLE_TIME_BEFORE_CLOSE": "5"})
    none = status(worker("j", seen=0), state="none")
    node_, job_ = node("n1", finished=["j"]), job("j")
    decision = decided(world([node_], [crawl], [job_], statuses={"c": none}, beats={"j": NOW - 1}))
    assert decision.ends == {"c": ("done", "nothing to do")}
    crashed = decided(world([node_], [crawl], [job_], statuses={"c": status(state="none")}))
    assert starts(crashed) == ["n1"], "one that crashes has not found that there is nothing to do"
    assert starts(decided(world([node("n1")], [crawl], statuses={"c": status(state="none")}))) == ["n1"]


def test_a_worker_that_left_while_the_crawl_goes_on_is_replaced():
    left = status(worker("j", seen=0))
    of = world([node("n1", finished=["j"])], [wanted()], [job("j")], statuses={"c": left}, beats={"j": NOW - 1})
    assert starts(decided(of)) == ["n1"]


@pytest.mark.parametrize("node_", [node("n1"), node("n1", error="cut off", silent_for=99)])
def test_one_that_no_signal_reaches_is_told_through_redis(node_):
    down = wanted(state="down", reason="stopped")
    decision = decided(world([node_], [down], [job("j")], beating=("j",)))
    assert (decision.signals, decision.told) == ([], {"j": "stopped"})
    assert decision.ends == {}, "it still lives"
    ended = decided(world([node("n1")], [down], [decision.placed["j"]]))
    assert (ended.placed, ended.told) == ({"j": None}, {"j": ""})


def test_too_many_workers_end_cleanly_where_there_are_most():
    jobs = [job("a"), job("b", at=NOW - 50), job("c", "n2")]
    of = world(
        [node("n1", running=["a", "b"]), node("n2", running=["c"])], [wanted(workers=2)], jobs, beating=tuple("abc")
    )
    decision = decided(of)
    assert signals(decision) == {"b": "INT"}
    assert starts(decision) == []


def test_a_node_that_returns_with_a_job_whose_place_is_taken_is_reconciled():
    jobs = [job("old", lost=True), job("new", "n2")]
    of = world([node("n1", running=["old"]), node("n2", running=["new"])], [wanted()], jobs, beating=("old", "new"))
    decision = decided(of)
    assert signals(decision) == {"old": "INT"}
    assert starts(decision) == []


def test_a_node_that_returns_with_a_job_whose_place_is_free_gets_it_back():
    of = world(
        [node("n1", running=["old"])], [wanted()], [job("old", lost=True)], beating=("old",), seen=seen(Vacancy())
    )
    decision = decided(of)
    assert signals(decision) == {}
    assert starts(decision) == []
    assert decision.placed["old"].lost is False


def test_a_stopped_crawl_ends_all_its_workers_and_says_so_when_they_have_ended():
    down = wanted(workers=2, state="down", reason="stopped")
    jobs = [job("a"), job("b", "n2")]
    first = decided(world([node("n1", running=["a"]), node("n2", pending=["b"])], [down], jobs, beating=("a",)))
    assert signals(first) == {"a": "INT", "b": "INT"}
    assert first.ends == {}
    left = [first.placed["a"], first.placed["b"]]
    second = decided(world([node("n1", finished=["a"]), node("n2")], [down], left))
    assert second.placed == {"a": None, "b": None}
    assert second.ends == {"c": ("stopped", "stopped")}


def test_workers_of_an_earlier_run_make_room_one_by_one():
    jobs = [job("a"), job("b", "n2")]
    of = world(
        [node("n1", running=["a"]), node("n2", running=["b"])], [wanted(workers=2, run=2)], jobs, beating=("a", "b")
    )
    first = decided(of)
    assert signals(first) == {"a": "INT", "b": "INT"}
    assert starts(first) == []
    going = [first.placed["a"], first.placed["b"]]
    second = decided(
        world(
            [node("n1", finished=["a"]), node("n2", running=["b"])], [wanted(workers=2, run=2)], going, beating=("b",)
        )
    )
    assert len(starts(second)) == 1


def test_jobs_that_others_scheduled_take_room_and_are_left_alone():
    of = world([node("n1", capacity=2, running=["theirs", ("else", "other")]), node("n2")], [wanted(workers=2)])
    decision = decided(of)
    assert starts(decision) == ["n2", "n2"]
    assert decision.signals == []


def test_more_workers_than_the_cluster_holds_run_as_far_as_they_fit():
    decision = decided(world([node("n1", capacity=2), node("n2", capacity=1)], [wanted(workers=5)]))
    assert sorted(starts(decision)) == ["n1", "n1", "n2"]
    assert decision.seen["c"].problems == [
        "2 of 5 workers wait for room: the nodes are full (n1 2 of 2, n2 1 of 1)",
    ]


def test_the_higher_priority_gets_the_room_over_spiders():
    low, high = wanted("low", workers=3), wanted("high", workers=3, priority=1)
    decision = decided(world([node("n1", capacity=4)], [low, high], statuses={"low": status(), "high": status()}))
    assert [placed.crawl for placed, _ in decision.starts] == ["high", "high", "high", "low"]


def test_a_node_that_starts_less_than_it_should_gets_less():
    pending = [job("a", at=NOW - 10, running_at=None), job("b", "n1")]
    decision = decided(
        world([node("n1", pending=["a"], running=["b"]), node("n2")], [wanted(workers=2)], pending, beating=("b",))
    )
    assert decision.limits == {"n1": 1}
    assert starts(decision) == ["n2"]
    limited = node("n1", running=["b"], limit=1)
    assert starts(decided(world([limited], [wanted(workers=2)], [job("b")], beating=("b",)))) == []


def test_a_pending_job_is_not_stuck_while_its_node_starts_others():
    of = world([node("n1", pending=["a"], started_at=NOW - 3)], [wanted()], [job("a", at=NOW - 30, running_at=None)])
    assert decided(of).signals == []


def test_a_refused_job_is_a_failure_with_the_nodes_words():
    refused = job("j", at=NOW - 1, running_at=None)
    decision = decided(
        world([node("n1"), node("n2")], [wanted()], [refused], refused={"j": "n1: spider 's' not found"})
    )
    assert decision.seen["c"].failures[0].why == "n1: spider 's' not found"
    assert starts(decision) == ["n2"]


def test_every_node_is_tried_before_one_that_refused_is_tried_again():
    refused = job("j", "n2", at=NOW - 1, running_at=None, attempt=1, avoid=["n1"])
    of = world([node("n1"), node("n2"), node("n3")], [wanted()], [refused], refused={"j": "no version"})
    assert decided(of).seen["c"].vacancies[0].avoid == ["n1", "n2"]
    due = seen(Vacancy(attempt=2, avoid=["n1", "n2"]))
    [(placed, _)] = decided(world([node("n1"), node("n2"), node("n3")], [wanted()], seen=due)).starts
    assert (placed.node, placed.avoid) == ("n3", ["n1", "n2"])


def test_a_job_that_turns_up_late_though_its_node_did_not_know_it_is_still_ours():
    unheard = job("j", at=NOW - 6, running_at=None)
    first = decided(world([node("n1"), node("n2")], [wanted()], [unheard]))
    assert starts(first) == ["n2"]
    assert first.placed["j"].lost
    late = [first.placed["j"], job("new1", "n2")]
    second = decided(
        world([node("n1", running=["j"]), node("n2", running=["new1"])], [wanted()], late, beating=("new1",))
    )
    assert signals(second) == {"j": "INT"}


def test_without_a_released_version_nothing_is_placed_and_that_is_said():
    decision = decide(world([node("n1")], [wanted()]), LIMITS, version=lambda: "")
    assert decision.starts == []
    assert "deploy push" in decision.seen["c"].problems[0]


def test_a_crawl_scaled_to_nothing_rests_and_does_not_fail():
    of = world([node("n1", running=["a"])], [wanted(workers=0)], [job("a")], beating=("a",))
    decision = decided(of)
    assert signals(decision) == {"a": "INT"}
    assert decision.ends == {}
