"""``python -m deploy`` over two real nodes: what it prints, and its exit codes."""

from __future__ import annotations

import json

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import PROJECT, run
from tests.deploy.eggs import small_egg

pytestmark = pytest.mark.slow


def jobs(deploy, *args):
    return json.loads(deploy("jobs", "--json", *args)[0])


def test_push_schedule_jobs_and_cancel(deploy):
    pushed = json.loads(deploy("push", "--json")[0])
    assert set(pushed["spiders"]) == {"node1", "node2"}
    assert "site" in pushed["spiders"]["node1"]

    started = json.loads(deploy("schedule", "lingering", "--workers", "2", "-a", "x=1=2", "--json")[0])
    assert started["version"] == pushed["version"]
    assert [len(ids) for ids in started["jobs"].values()] == [2, 2]
    ids = {job for of_node in started["jobs"].values() for job in of_node}
    eventually(lambda: {job["id"] for job in jobs(deploy, "--state", "running")} == ids)

    one = started["jobs"]["node2"][0]
    assert one in deploy("cancel", one)[0]
    assert {job["id"] for job in jobs(deploy, "--state", "running")} == ids - {one}
    deploy("cancel", "--spider", "site")
    assert len(jobs(deploy, "--state", "running")) == 3
    deploy("cancel", "--spider", "lingering", "-t", "node1")
    assert {job["node"] for job in jobs(deploy, "--state", "running")} == {"node2"}
    deploy("cancel", "--all")
    assert jobs(deploy, "--state", "running", "--state", "pending") == []
    assert "neither pending nor running on any node" in deploy("cancel", one, code=1)[1]


def test_targets_lists_nodes_and_fails_when_one_does_not_answer(deploy, stack):
    for node in stack_nodes(stack):
        NodeClient(node).add_version(PROJECT, "v1", small_egg("here"))
    rows = json.loads(deploy("targets", "--json")[0])
    assert [(row["name"], row["answers"], row["versions"]) for row in rows] == [
        ("node1", True, ["v1"]),
        ("node2", True, ["v1"]),
    ]
    out, err = deploy("targets", code=1, NODE2_URL="http://127.0.0.1:9/")
    assert "node2" in out
    assert "node2: cannot connect" in err
    deploy("targets", code=4, NODE1_URL="http://127.0.0.1:9/", NODE2_URL="http://127.0.0.1:9/")


def test_a_wrong_password_is_named_with_its_node_and_never_shown(deploy):
    out, err = deploy("targets", code=1, NODE1_PASSWORD="hunter2")
    assert "node1: " in err
    assert "refused the username or password" in err
    assert "hunter2" not in out + err


def test_what_cannot_be_scheduled_says_which_node_and_why(deploy, stack):
    assert "push` first" in deploy("schedule", "site", code=1)[1]
    NodeClient(stack_nodes(stack)[0]).add_version(PROJECT, "v1", small_egg("here"))
    out, err = deploy("schedule", "telling", code=1)
    assert "node2: schedule.json: project 'spiders_project' not found" in err
    assert "node1" in out
    assert "spider 'nobody' not found" in deploy("schedule", "nobody", "-t", "node1", code=1)[1]


def test_seeds_reach_redis_and_what_is_none_is_reported(deploy, stack, tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text('# a comment\n\nhttps://a.example/\n{"url": "https://b.example/", "priority": 2}\nnonsense\n')
    out, err = deploy("seed", "quiet", "--file", str(file), code=1)
    assert out == "2 pushed to quiet:start_urls, 1 refused\n"
    assert "refused entry 5, 'nonsense'" in err
    assert deploy("seed", "quiet", "https://c.example/")[0].startswith("1 pushed")
    redis_cli = run("redis-cli", "-u", stack.redis_url, "--no-auth-warning", "lrange", "quiet:start_urls", "0", "-1")
    assert [line for line in redis_cli.stdout.splitlines() if line.startswith("https")] == [
        "https://a.example/",
        "https://c.example/",
    ]
    run("redis-cli", "-u", stack.redis_url, "--no-auth-warning", "del", "quiet:start_urls")


def test_a_redis_that_is_away_is_cannot_connect_and_its_password_is_not_shown(at_the_door):
    """In a process of its own, as a person types it."""
    away = {"REDIS_URL": "redis://:hunter2@127.0.0.1:9/0"}
    done = run("python", "-m", "deploy", "seed", "site", "https://a.example/", cwd=at_the_door, **away)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "127.0.0.1:9" in done.stderr
    assert "hunter2" not in done.stderr
