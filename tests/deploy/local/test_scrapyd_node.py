"""A node runs what is pushed to it and nothing else, and takes its jobs with it."""

from __future__ import annotations

import logging
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from deploy.errors import DeployError
from deploy.local import scrapyd_node
from deploy.local.scrapyd_node import ScrapydNode

from .conftest import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def node(server_directory: Path) -> Iterator[ScrapydNode]:
    node = ScrapydNode(server_directory / "node7", name="node7", settings={"REDIS_URL": "redis://x/"})
    yield node
    node.stop()


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_job_runs_the_eggs_code_with_the_nodes_settings_alone(
    node: ScrapydNode, run_job: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checkout = node.directory.parent
    (checkout / "scrapy.cfg").write_text("[settings]\ndefault = spiders_project.settings\n")
    for place in (checkout, tmp_path):
        (place / "spiders_project").mkdir()
        (place / "spiders_project" / "__init__.py").write_text("raise RuntimeError('not from the egg')")
    (tmp_path / ".scrapyd.conf").write_text("[scrapyd]\nhttp_port = 1\npassword =\n")
    for name, value in {
        "PYTHONPATH": str(tmp_path),
        "HOME": str(tmp_path),
        "SCRAPY_SETTINGS_MODULE": "elsewhere",
        "SCRAPYD_HTTP_PORT": "1",
        "NODE7_PASSWORD": "not for jobs",
        "DOWNLOAD_DELAY": "3",
    }.items():
        monkeypatch.setenv(name, value)
    node.start()

    told = run_job(node)

    assert told["file"] == str(node.directory / "eggs/spiders_project/1.egg/spiders_project/__init__.py")
    assert told["environ"]["NODE_NAME"] == "node7"
    assert told["environ"]["REDIS_URL"] == "redis://x/"
    assert told["environ"]["DOWNLOAD_DELAY"] == "3"
    assert told["environ"].keys().isdisjoint({"PYTHONPATH", "NODE7_PASSWORD", "SCRAPYD_HTTP_PORT"})
    assert not (node.directory / "dbs" / "default.db").exists()  # the checkout's scrapy.cfg was not read


def test_an_environment_that_has_the_project_is_refused(
    node: ScrapydNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    (site / "spiders_project").mkdir(parents=True)
    (site / "spiders_project" / "__init__.py").touch()
    # As an installation into the node's environment would: the interpreter finds it by itself.
    monkeypatch.setattr(scrapyd_node, "PROBE", f"import sys; sys.path.append({str(site)!r})\n{scrapyd_node.PROBE}")
    with pytest.raises(DeployError, match=r"imports spiders_project from .*; run `pip uninstall spiders_project`"):
        node.start()
    assert node.process is None


def test_stopping_a_node_asks_its_jobs_to_end_and_kills_those_that_do_not(
    node: ScrapydNode, run_job: Callable[..., dict[str, Any]]
) -> None:
    node.start()
    stubborn, kind = run_job(node, stubborn="1"), run_job(node)
    assert {job.pid for job in node.jobs} == {stubborn["pid"], kind["pid"]}

    node.job_seconds = 3
    node.stop()

    assert [pid for pid in (kind["pid"], stubborn["pid"], stubborn["child"]) if alive(pid)] == []
    logs = [path.read_text() for path in (node.directory / "logs").rglob("*.log")]
    assert sorted("Spider closed (shutdown)" in log for log in logs) == [False, True]


def test_the_orphans_of_a_killed_node_are_named_at_its_return_and_ended_with_it(
    node: ScrapydNode, run_job: Callable[..., dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    node.start()
    orphan = run_job(node)["pid"]
    scrapyd = node.process
    assert scrapyd
    scrapyd.send_signal(signal.SIGKILL)
    wait_until(lambda: node.process is None)

    with caplog.at_level(logging.WARNING):
        node.start()
    assert f"jobs outlived it and run on; `down` ends them (pid {orphan})" in caplog.text
    assert alive(orphan)

    node.stop()
    assert not alive(orphan)


def test_other_settings_restart_a_node(node: ScrapydNode, server_directory: Path) -> None:
    node.start()
    before = node.process
    assert not ScrapydNode(node.directory, name="node7", settings={"REDIS_URL": "redis://x/"}).start()
    assert ScrapydNode(node.directory, name="node7", settings={"REDIS_URL": "redis://y/"}).start()
    assert before
    assert node.process != before


def test_an_interpreter_without_scrapyd_is_told(node: ScrapydNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapyd_node, "PROBE", scrapyd_node.PROBE.replace('"scrapyd"', '"scrapyd_missing"'))
    with pytest.raises(DeployError, match=f"{re.escape(sys.executable)} has no Scrapyd"):
        node.start()
