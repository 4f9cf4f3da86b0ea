"""What a process knows of its own job."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spiders_project import egg
from spiders_project.config import Options
from spiders_project.jobs.machine import load_average, resident_memory
from spiders_project.jobs.record import age_of_process, facts_of, job_id, state_of


def test_a_job_is_named_by_its_environment_or_by_scrapyd(monkeypatch):
    monkeypatch.delenv("SCRAPY_JOB", raising=False)
    assert (job_id("j"), job_id("")) == ("j", "")
    monkeypatch.setenv("SCRAPY_JOB", "pod-7")
    assert job_id("j") == "pod-7"


def test_the_version_is_scrapyds_or_the_name_of_the_egg(monkeypatch):
    assert facts_of("site", "v1", Options())["version"] == "v1"
    assert facts_of("site", "", Options())["version"] == "", "a checkout has none"
    monkeypatch.setattr(egg, "version", lambda: "1796069444-cc98fa7e")
    assert facts_of("site", "", Options())["version"] == "1796069444-cc98fa7e"


def test_the_node_is_named_by_its_environment_else_by_its_host(monkeypatch):
    monkeypatch.setenv("SCRAPY_PROJECT", "p")
    facts = facts_of("site", "", Options(NODE_NAME="berlin", FRONTIER_NAMESPACE="ns"))
    assert (facts["node"], facts["project"], facts["namespace"], facts["pid"]) == ("berlin", "p", "ns", os.getpid())
    assert facts_of("site", "", Options())["node"] == os.uname().nodename


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("finished", "finished"),
        ("shutdown", "finished"),
        ("closespider_errorcount", "finished"),
        ("frontier_error", "failed"),
        ("frontier_failure", "failed"),
    ],
)
def test_a_finish_reason_tells_whether_a_job_failed(reason, state):
    assert state_of(reason) == state


def test_the_machine_and_the_process_are_measured():
    assert load_average() >= 0
    before = resident_memory()
    ballast = bytearray(64 * 2**20)
    assert resident_memory() - before > 32 * 2**20
    assert len(ballast) == 64 * 2**20
    assert age_of_process() > 0


def test_job_records_need_no_scrapy():
    code = "import sys, spiders_project.jobs.store, deploy.records; sys.exit('scrapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
