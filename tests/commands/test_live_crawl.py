"""``scrapy frontier`` over a worker that crawls the sample site, its watchdog, and the hook at the end of its run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from deploy.sample_site import expected_pages, serve
from spiders_project.frontier.inspect import crawl_status
from tests.commands.conftest import ROOT, SCRAPY

SETTINGS = """
from spiders_project.settings import *

SPIDER_MODULES = ["spiders_project.spiders"]
ITEM_PIPELINES = {}
DOWNLOAD_DELAY = 0.01
MAX_IDLE_TIME_BEFORE_CLOSE = 1
RETRY_TIMES = 0
FRONTIER_LEASE_SECONDS = 4
FRONTIER_STALL_SECONDS = 1
FRONTIER_RUN_ENDED_HOOK = "toy.hooks.tell"
"""

HOOKS = """
import asyncio
import dataclasses
import json
import os
from pathlib import Path


async def tell(run):
    with Path("told.jsonl").open("a") as out:
        out.write(json.dumps(dataclasses.asdict(run)) + "\\n")
    while Path("hang").exists():
        await asyncio.sleep(0.05)
    if Path("fail").exists():
        Path("fail").unlink()
        raise RuntimeError("try again")
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def until(condition, what, seconds=60.0):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


class Live:
    """A project whose workers crawl the sample site."""

    def __init__(self, project, redis_url):
        self.project, self.url = project, redis_url
        self.directory = project.directory
        project.set(SETTINGS)
        (self.directory / "toy" / "hooks.py").write_text(HOOKS)

    def frontier(self, *args, **kwargs):
        return self.project.run("frontier", *args, **{"REDIS_URL": self.url, **kwargs})

    def status(self):
        return json.loads(self.frontier("status", "site", "--json").stdout)

    def seed(self, *urls):
        assert self.project.run("seed", "site", *urls, REDIS_URL=self.url).returncode == 0

    def told(self):
        path = self.directory / "told.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @contextmanager
    def worker(self, log):
        with (self.directory / log).open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, SCRAPY, "crawl", "site"],
                cwd=self.directory,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.directory),
                    "PYTHONPATH": f"{ROOT}:{self.directory}",
                    "REDIS_URL": self.url,
                },
                stderr=out,
            )
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def log(self, name):
        return (self.directory / name).read_text()


@pytest.fixture
def live(project, redis_url, redis_client):
    return Live(project, redis_url)


@pytest.fixture
def sample():
    with serve() as site:
        yield site


def test_an_operator_pauses_looks_at_and_resumes_a_crawl_that_runs(live, sample, redis_client):
    live.seed(sample.url)
    with live.worker("log") as worker:
        until(lambda: len(sample.arrivals) > 10, "the first pages")
        assert live.frontier("pause", sample.url, "site").returncode == 0
        until(lambda: not crawl_status(redis_client, "site").leased, "what was handed out to end")
        status = live.status()
        arrived = len(sample.arrivals)
        assert status["status"]["queued"] > 0
        assert {one["cause"] for one in status["blockers"]} == {"paused"}
        [alive] = status["status"]["workers"]
        assert alive["alive"]
        assert live.frontier("hosts", "site").stdout.splitlines()[1].split()[::3] == ["127.0.0.1", "paused"]

        refused = live.frontier("purge", "site", "--yes")
        assert refused.returncode == 1
        assert "stop them before a purge" in refused.stderr

        until(lambda: "no progress for" in live.log("log"), "the watchdog")
        assert "paused by an operator: 127.0.0.1 (scrapy frontier resume" in live.log("log")
        assert len(sample.arrivals) == arrived

        exported = live.frontier("export", "site", "x.gz")
        assert f"{status['status']['queued']:,} requests" in exported.stdout

        assert live.frontier("resume", "127.0.0.1", "site").returncode == 0
        until(lambda: worker.poll() is not None, "the end of the crawl", 100)
        assert worker.returncode == 0
    assert "The crawl goes on after" in live.log("log")

    status = live.status()["status"]
    assert (status["state"], status["finish_reason"]) == ("finished", "finished")
    [run] = live.told()
    assert (run["run_id"], run["pages"], run["reason"]) == (status["run_id"], status["pages"], "finished")
    assert status["run_id"] in live.frontier("status", "site", "--runs").stdout

    # What failed is queued again, while no worker runs, and opens a new run.
    dead = json.loads(live.frontier("dead", "site", "--json").stdout)
    assert dead["count"] == status["dead"] > 0
    assert live.frontier("retry", "site").stdout == f"{dead['count']} queued again\n"
    again = live.status()["status"]
    assert (again["state"], again["queued"], again["dead"]) == ("open", dead["count"], 0)
    assert again["run_id"] != status["run_id"]
    with live.worker("second") as worker:
        until(lambda: worker.poll() is not None, "the end of the second run")
    pages = status["pages"] + live.status()["status"]["pages"]
    assert pages == len(expected_pages(sample.url))
    assert [one["run_id"] for one in live.told()] == [status["run_id"], again["run_id"]]


def test_the_hook_runs_again_when_its_worker_is_killed_or_it_fails(live, sample, redis_client):
    (live.directory / "hang").touch()
    live.seed(f"{sample.url}nowhere")
    with live.worker("first") as worker:
        [told] = until(live.told, "the hook")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    (live.directory / "hang").unlink()
    (live.directory / "fail").touch()  # and once more when it failed
    for name in ("second", "third", "fourth"):
        with live.worker(name) as worker:
            until(lambda: worker.poll() is not None, "a worker that finds nothing to do")
    assert "RuntimeError: try again" in live.log("second")
    assert [one["run_id"] for one in live.told()] == [told["run_id"]] * 3
    assert redis_client.xpending("site:ended_runs", "hooks")["pending"] == 0


def test_a_hook_that_does_not_exist_is_refused(live):
    done = live.project.run("crawl", "site", "-s", "FRONTIER_RUN_ENDED_HOOK=toy.hooks.missing", REDIS_URL=live.url)
    assert done.returncode != 0
    assert "FRONTIER_RUN_ENDED_HOOK is 'toy.hooks.missing'" in done.stderr
