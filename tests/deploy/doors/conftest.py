"""What people type, run as they type it: real programs in a copy of the checkout, on real nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deploy.cli import main
from deploy.client import NodeClient
from deploy.egg import build_egg
from deploy.environment import stack_nodes
from deploy.errors import NodeError
from deploy.jobs import cancel, list_jobs
from deploy.release import release
from deploy.withdrawals import Withdrawals
from tests.deploy.conftest import ROOT, copy_checkout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.local.info import StackInfo
    from deploy.targets import Node

PROJECT = "spiders_project"
#: A spider that touches no frontier and runs until it is cancelled; it says where its code comes from.
LINGERING_SPIDER = """
import asyncio
import scrapy
import spiders_project

class Lingering(scrapy.Spider):
    name = "lingering"
    custom_settings = {
        "SCHEDULER": "scrapy.core.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
        "SPIDER_MIDDLEWARES": {},
        "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
        "ITEM_PIPELINES": {},
        "EXTENSIONS": {},
    }

    async def start(self):
        arguments = {name: value for name, value in vars(self).items() if isinstance(value, str)}
        self.logger.info("code %s arguments %s delay %s", spiders_project.__file__, arguments,
                         self.settings.getfloat("DOWNLOAD_DELAY"))
        while self.crawler.crawling and not getattr(self, "short", None):
            await asyncio.sleep(0.1)
        return
        yield
"""


@pytest.fixture(scope="session")
def session_checkout(tmp_path_factory) -> Path:
    """A copy of the checkout with two more spiders in it; nobody changes it."""
    copy = copy_checkout(tmp_path_factory.mktemp("doors") / "checkout")
    shutil.copy(Path(__file__).with_name("shelves.py"), copy / "spiders_project/spiders")
    (copy / "spiders_project/spiders/lingering.py").write_text(LINGERING_SPIDER)
    return copy


@pytest.fixture(scope="session")
def egg(session_checkout) -> bytes:
    return build_egg(session_checkout)


@contextmanager
def project_of_its_own(stack: StackInfo) -> Iterator[tuple[Node, ...]]:
    """Both nodes under a project that is gone afterwards, with its jobs."""
    project = f"p{uuid.uuid4().hex[:8]}"
    nodes = tuple(replace(node, project=project) for node in stack_nodes(stack))
    try:
        yield nodes
    finally:
        clear(nodes)


@pytest.fixture
def nodes(stack) -> Iterator[tuple[Node, ...]]:
    """Both nodes under a project of the test's own."""
    with project_of_its_own(stack) as nodes:
        yield nodes


@pytest.fixture
def released(nodes, egg, tmp_path) -> tuple[Node, ...]:
    """``nodes`` with version ``v1`` of the egg on them."""
    release(nodes, egg, "v1", Withdrawals(tmp_path, None)).check()
    return nodes


@pytest.fixture(scope="module")
def released_once(stack, egg, tmp_path_factory) -> Iterator[tuple[Node, ...]]:
    """As ``released``, for a file whose tests do nothing but run jobs."""
    with project_of_its_own(stack) as nodes:
        release(nodes, egg, "v1", Withdrawals(tmp_path_factory.mktemp("released"), None)).check()
        yield nodes


@pytest.fixture
def at_the_door(checkout, stack, monkeypatch) -> Iterator[Path]:
    """A checkout with a stack, its variables sourced, and nothing of the project on the nodes before and after."""
    nodes = stack_nodes(stack)
    clear(nodes)
    (checkout / ".local").mkdir(mode=0o700)
    stack.save(checkout / ".local")
    (checkout / "spiders_project/spiders/lingering.py").write_text(LINGERING_SPIDER)
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(checkout)
    yield checkout
    clear(nodes)


@pytest.fixture
def deploy(at_the_door, capsys):
    """``deploy(*args)`` at the door, in this process, as a new one takes a second: what it printed, (out, err)."""

    def call(*args: str, code: int = 0, **env: str) -> tuple[str, str]:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(args)
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out, err

    return call


def clear(nodes: tuple[Node, ...]) -> None:
    """Cancel every job of the nodes' project, then delete it."""
    jobs = [job for of_node in list_jobs(nodes).done.values() for job in of_node if job.state != "finished"]
    cancel(nodes, jobs).check()
    for node in nodes:
        with suppress(NodeError):  # nothing was ever pushed
            NodeClient(node).delete_project(node.project)


def run(*command: str, cwd: Path = ROOT, input: bytes | None = None, **env: str) -> subprocess.CompletedProcess[str]:  # noqa: A002 - as subprocess.run calls it
    """Run a program with this environment's ``bin`` first on the path, and without a trace of the checkout."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = f"{Path(sys.executable).parent}:{inherited['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, "PATH": path, **env},
        capture_output=True,
        input=input,
        timeout=90,
        check=False,
    )
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def log_line(node: Node, job: str) -> str:
    """The line in which the lingering spider says where it comes from, or nothing yet."""
    client = NodeClient(node)
    jobs = client.list_jobs(node.project)
    # Scrapyd gives no address of a log that does not exist yet.
    entries = [job_ for job_ in jobs["running"] + jobs["finished"] if job_["id"] == job and job_["log_url"]]
    log = client.job_log(entries[0]) if entries else ""
    return next((line for line in log.splitlines() if "[lingering] INFO: code" in line), "")
