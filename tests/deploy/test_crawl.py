"""``make crawl``: everything from nothing, and what happens when it cannot succeed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import redis

from deploy.environment import read_stack, stack_nodes
from deploy.jobs import list_jobs
from deploy.local.stack import Stack
from deploy.sample_site import expected_pages, serve
from spiders_project.frontier.inspect import crawl_status
from tests.deploy.conftest import copy_checkout, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def clone(servers_root):
    """A copy of the checkout whose stack is stopped afterwards."""
    copy = copy_checkout(servers_root / "clone")
    yield copy
    Stack(copy / ".local").down()


@pytest.fixture
def crawl(clone):
    """``crawl(*args)`` runs the verb; ``crawl.start(*args)`` only starts it."""

    def start(*args: str):
        env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "CONTACT"}}
        return subprocess.Popen(
            [sys.executable, "-m", "deploy", "crawl", *args],
            cwd=clone,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(*args: str, code: int = 0):
        with start(*args) as process:
            out, err = process.communicate(timeout=150)
        assert process.returncode == code, out + err
        return out, err

    call.start = start
    return call


def alive(clone):
    jobs = list_jobs(stack_nodes(read_stack(clone)))
    return [job for of_node in jobs.done.values() for job in of_node if job.state != "finished"]


def row(table: str, name: str) -> str:
    return next(line for line in table.splitlines() if line.startswith(name)).removeprefix(name).strip()


def test_a_first_crawl_of_the_sample_site_and_a_second_with_limits(crawl, clone):
    expected = len(expected_pages("http://127.0.0.1:8137/"))
    out, err = crawl()
    by_node = [int(row(out, f"pages by {node}")) for node in ("node1", "node2")]
    assert sum(by_node) == expected
    assert min(by_node) > 0
    assert row(out, "items in pages").startswith(f"{expected} (all crawls:")
    assert row(out, "errors") == "0"
    assert row(out, "duration").startswith("0:")
    assert "pages/s" in err, "a plain line, since stdout is no terminal"
    assert "forgot the frontier" not in err
    assert alive(clone) == []

    out, err = crawl("--depth", "1", "--pages", "5")
    assert "forgot the frontier of the last site crawl" in err
    stored = int(row(out, "items in pages").split()[0])
    assert 1 <= stored < 5 + 2 * 32, "pages of the first crawl are stored again, and few"
    assert alive(clone) == []


def test_a_crawl_that_stores_nothing_is_a_failure_and_names_no_contact_with_a_warning(crawl):
    with serve() as site:
        _, err = crawl("--url", f"{site.url}nowhere", code=1)
    assert "warning: this crawl names no contact" in err
    assert "stored nothing" in err


def test_a_second_crawl_beside_a_living_one_is_refused_and_an_interrupt_cancels_the_jobs(crawl, clone):
    with serve() as site:
        first = crawl.start("--url", site.url, "--contact", "me@example.org")  # a page a second: it lasts
        for line in first.stderr:
            assert "warning" not in line, "it names a contact"
            if "building the egg" in line:
                break
        with first, redis.Redis.from_url(read_stack(clone).redis_url) as client:
            _, err = crawl(code=1)
            assert "another crawl of site is under way" in err, "before its workers have started"
            eventually(lambda: any(worker.alive for worker in crawl_status(client, "site").workers), 60)
            assert len(alive(clone)) == 2, "the living crawl goes on"
            first.send_signal(signal.SIGINT)
            out, err = first.communicate(timeout=120)
    assert first.returncode == 130, out + err
    assert "cancelling the jobs" in err
    assert alive(clone) == []


def test_a_contact_that_is_none_is_wrong_use(crawl):
    _, err = crawl("--url", "http://127.0.0.1:9/", "--contact", "me", code=2)
    assert "--contact 'me'" in err


def test_a_url_that_is_none_is_refused_before_anything_is_built(crawl):
    _, err = crawl("--url", "example", "--contact", "me@example.org", code=2)
    assert "'example' is no URL to crawl" in err
    assert "building" not in err
