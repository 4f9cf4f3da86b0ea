"""What the tests of the embedded stack share: a program that Scrapyd can run, and patience."""

from __future__ import annotations

import itertools
import json
import time
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from scrapyd_api import ScrapydAPI

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPIDER = '''
import asyncio, json, os, pathlib, signal, subprocess
import scrapy
import spiders_project

class Lasting(scrapy.Spider):
    """Tells what it is, then lives until it is ended."""
    name = "lasting"

    async def start(self):
        while signal.getsignal(signal.SIGTERM).__module__ != "scrapy.crawler":  # handled from here on
            await asyncio.sleep(0.01)
        facts = {"file": spiders_project.__file__, "pid": os.getpid(), "environ": dict(os.environ)}
        if getattr(self, "stubborn", None):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            facts["child"] = subprocess.Popen(["sleep", "600"]).pid
        path = pathlib.Path(self.tell)
        path.with_suffix(".new").write_text(json.dumps(facts))
        path.with_suffix(".new").rename(path)
        await asyncio.sleep(600)
        yield
'''


@pytest.fixture(scope="session")
def egg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An egg with one spider, ``lasting``."""
    path = tmp_path_factory.mktemp("egg") / "spiders_project.egg"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: spiders_project\nVersion: 1\n")
        file.writestr("EGG-INFO/entry_points.txt", "[scrapy]\nsettings = spiders_project.settings\n")
        file.writestr("spiders_project/__init__.py", "")
        file.writestr("spiders_project/settings.py", "SPIDER_MODULES = ['spiders_project.spiders']\n")
        file.writestr("spiders_project/spiders/__init__.py", SPIDER)
    return path


@pytest.fixture
def run_job(egg: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Push the egg to a node, run ``lasting`` there, and return what it tells of itself."""

    numbers = itertools.count()

    def run(node: Any, **arguments: str) -> dict[str, Any]:
        api = ScrapydAPI(node.url, auth=(node.username, node.password))
        if not api.list_projects():
            with egg.open("rb") as file:
                assert api.add_version("spiders_project", "1", file) == 1
        told = tmp_path / f"told{next(numbers)}.json"
        api.schedule("spiders_project", "lasting", tell=str(told), **arguments)
        wait_until(told.exists)
        return json.loads(told.read_text())

    return run


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for ``condition`` to hold."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.03)
