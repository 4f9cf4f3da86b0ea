"""A project of its own for the real ``scrapy`` program, and a site to look at."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRAPY = Path(sys.executable).with_name("scrapy")
CLOSED_PORT = "redis://:hunter2@127.0.0.1:1/0"

SETTINGS = """
from spiders_project.settings import *

SPIDER_MODULES = ["toy.spiders"]
DOWNLOAD_DELAY = 0
"""

SPIDERS = """
from scrapy_redis.spiders import RedisSpider
from scrapy import Spider


class Plain(Spider):
    name = "plain"

    def __init__(self, *args, start_urls="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = start_urls.split()

    def parse(self, response):
        \"\"\"
        @url URL
        @returns items 1
        \"\"\"
        yield {"title": response.css("title::text").get()}


class Typo(Plain):
    name = "typo"
    custom_settings = {"FRONTIER_LEASE_SECOND": 3}


class OtherKey(Plain):
    name = "otherkey"
    redis_key = "seeds:%(name)s"
    custom_settings = {"FRONTIER_ALLOWED_SCHEMES": ["ftp"]}
"""


@dataclass
class Project:
    """A project directory; ``run`` is the real program in it."""

    directory: Path
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """``scrapy`` with ``args``."""
        return self.python(str(SCRAPY), *args, **kwargs)

    def python(self, *args: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[str]:
        """The interpreter with ``args``; nothing of this process's environment reaches it."""
        completed = subprocess.run(
            [sys.executable, *args],
            cwd=self.directory,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.directory),
                "PYTHONPATH": f"{ROOT}:{self.directory}",
                "REDIS_URL": CLOSED_PORT,
                "MONGO_URI": "mongodb://me:hunter2@127.0.0.1:1",
            }
            | environ,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(
            args, completed.returncode, completed.stdout.decode(), completed.stderr.decode()
        )

    def set(self, settings: str) -> None:
        """Replace what the project's settings.py adds."""
        (self.directory / "toy" / "settings.py").write_text(textwrap.dedent(settings))


@pytest.fixture
def project(tmp_path: Path, site: Site) -> Project:
    package = tmp_path / "toy"
    (package / "spiders").mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = toy.settings\n")
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(SETTINGS)
    (package / "spiders" / "__init__.py").write_text(SPIDERS.replace("URL", site.url))
    return Project(tmp_path)


@dataclass
class Site:
    """A page on loopback, and the headers that its visitors sent."""

    url: str
    visits: list[tuple[str, dict[str, str]]]


@pytest.fixture
def site():
    visits: list[tuple[str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            visits.append((self.path, dict(self.headers)))
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>hello</title>")

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield Site(f"http://127.0.0.1:{server.server_port}/", visits)
        server.shutdown()
        thread.join()
