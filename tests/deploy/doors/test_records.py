"""What jobs leave behind, looked at over real nodes: ``jobs``, ``logs``, ``history``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import psutil
import pytest
import redis

from deploy import records
from deploy.client import NodeClient
from deploy.deaths import Deaths
from deploy.egg import build_egg
from deploy.environment import stack_nodes
from deploy.jobs import cancel, list_jobs, new_jobs, schedule
from deploy.local.scrapyd_node import ScrapydNode
from deploy.logs import find_log
from deploy.outcomes import gather
from deploy.release import release
from deploy.targets import Node
from deploy.withdrawals import Withdrawals
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import PROJECT, run

pytestmark = pytest.mark.slow

STUMBLING_SPIDER = """
import scrapy

class Stumbling(scrapy.Spider):
    name = "stumbling"

    def __init__(self, *args, **kwargs):
        raise RuntimeError("no login at https://me:" + "hunter2@example.org/")
"""


def test_what_scrapyd_calls_finished_is_told_apart_and_logs_are_followed(
    deploy, at_the_door, egg_that_stumbles, stack, monkeypatch
):
    """D7: a job that crashed; D14: times with their zone."""
    one, two = nodes = stack_nodes(stack)
    release(nodes, egg_that_stumbles, "v1", Withdrawals(at_the_door, None)).check()
    (job,) = new_jobs([one], "site")
    schedule([one], [job], version="v1").check()
    by_curl = run(
        *("curl", "-sS", "-u", f"{two.username}:{two.password}", f"{two.url}schedule.json"),
        *("-d", f"project={PROJECT}", "-d", "spider=stumbling"),
    )
    crashed = json.loads(by_curl.stdout)["jobid"]

    with redis.Redis.from_url(stack.redis_url) as client:
        both = {job.id: "running", crashed: "failed"}

        def found():
            return {known.id: known for known in gather(list_jobs(nodes), client) if known.id in both}

        eventually(lambda: {key: known.state for key, known in found().items()} == both)
        eventually(lambda: found()[job.id].record.worker)
    eventually(lambda: NodeClient(two).status(crashed) == "finished")

    listed = {entry["id"]: entry for entry in json.loads(deploy("jobs", "--json")[0])}
    failed, running = listed[crashed], listed[job.id]
    assert (failed["state"], failed["reason"], failed["failed"]) == ("failed", "not_opened", True)
    assert (failed["node"], failed["record"]["node"]) == ("node2", "node2")
    assert failed["version"] == "v1", "also of a job by curl, without _version"
    assert "RuntimeError: no login at https://me:***@example.org/" in failed["record"]["error"]
    assert (running["state"], running["record"]["alive"]) == ("running", True)
    assert running["record"]["started_at"].endswith("+00:00")
    assert running["record"]["worker"].startswith(f"node1:{job.id}:")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        table, _ = deploy("jobs", "--failed", "--since", "1h")
    time.tzset()
    (row,) = [line for line in table.splitlines() if crashed in line]
    assert job.id not in table
    assert " IST " in row
    assert "RuntimeError: no login" in row
    assert crashed in deploy("history", "stumbling")[0]
    newest = json.loads(deploy("history", "stumbling", "-n", "1", "--json")[0])
    assert [(known["id"], known["reason"]) for known in newest] == [(crashed, "not_opened")]
    assert "left no record" in deploy("logs", "nonsense", code=1)[1]

    follow_until_cancelled(deploy, one, job, at_the_door)

    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@127.0.0.1:9/0")
    out, err = deploy("jobs", "--json", code=4)
    (known,) = [entry for entry in json.loads(out) if entry["id"] == crashed]
    assert (known["state"], known["reason"], known["record"]) == ("finished", "no record", None)
    assert "127.0.0.1:9" in err
    assert "hunter2" not in out + err


def follow_until_cancelled(deploy, one, job, directory):
    """``logs``, which says what the log says; with -f until the job has ended."""
    following = subprocess.Popen(
        [sys.executable, "-m", "deploy", "logs", "-f", "-n", "3", job.id],
        cwd=directory, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    with following:
        head = following.stdout.readline()
        cancel([one], [job]).check()
        rest, _ = following.communicate(timeout=60)
    assert following.returncode == 0
    assert b"Spider closed (shutdown)" in rest
    whole, _ = deploy("logs", "--all", job.id)
    assert whole.encode().endswith(head + rest)
    assert len(whole.encode()) > len(head + rest)
    assert deploy("logs", "-n", "2", job.id)[0] == "".join(whole.splitlines(keepends=True)[-2:])
    assert one.password not in whole


@pytest.fixture
def egg_that_stumbles(at_the_door) -> bytes:
    (at_the_door / "spiders_project/spiders/stumbling.py").write_text(STUMBLING_SPIDER)
    return build_egg(at_the_door)


def test_jobs_that_outlive_their_scrapyd_are_found_and_named(server_directory, redis_url, redis_client, egg):
    """D9: Scrapyd forgets its running jobs when it restarts; their records do not."""
    server = ScrapydNode(server_directory / "node7", name="node7", settings={"REDIS_URL": redis_url})
    server.start()
    try:
        node = Node("node7", server.url, username=server.username, password=server.password)
        release([node], egg, "v1", Withdrawals(server_directory, None)).check()
        (job,) = new_jobs([node], "site")
        settings = {"FRONTIER_LEASE_SECONDS": "4"}
        schedule([node], [job], version="v1", settings=settings).check()
        eventually(lambda: (record := records.get(redis_client, job.id)) and record.worker)
        server.process.send_signal(signal.SIGKILL)
        eventually(lambda: server.process is None)
        (silent,) = gather(list_jobs([node]), redis_client)
        assert (silent.state, silent.listed) == ("running", None), "its node is away, and it lives"
        server.start()
        (orphan,) = gather(list_jobs([node]), redis_client)
        assert (orphan.state, orphan.node, orphan.listed) == ("orphan", "node7", None)
        assert find_log([node], job.id, orphan.record).size() > 0

        psutil.Process(orphan.record.pid).kill()
        eventually(lambda: gather(list_jobs([node]), redis_client)[0].state == "died")
        deaths = Deaths(redis_client, [node], lambda _: None, patience=0)
        eventually(lambda: deaths() or records.get(redis_client, job.id).state == "died")
        record = records.get(redis_client, job.id)
        assert (record.reason, record.ended_at) == ("no heartbeat", record.seen_at)
        assert "[scrapy.core.engine] INFO: Spider opened" in record.error, "its log ends so"
    finally:
        server.stop()
