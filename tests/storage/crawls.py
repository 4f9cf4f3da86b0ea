"""Whole crawls in a process of their own, with Scrapy's own scheduler, against a small site on loopback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = {
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
    "ITEM_PROCESSOR": "spiders_project.items.processor.DeliveringItemProcessor",
    "ITEM_PIPELINES": {
        "spiders_project.pipelines.validate.ValidatePipeline": 100,
        "spiders_project.pipelines.normalise.NormalisePipeline": 200,
        "spiders_project.pipelines.mongo.MongoPipeline": 800,
    },
    "CONCURRENT_ITEMS": 8,
    "MONGO_FLUSH_SECONDS": 0.1,
}

#: Runs a spider that lies in a file, as ``scrapy runspider`` does, without a project.
RUNNER = """
import json, sys
from scrapy.cmdline import execute
from scrapy.settings import Settings
settings = Settings()
settings.setdict(json.load(open(sys.argv[1])), priority="project")
execute(["scrapy", "runspider", sys.argv[2]], settings)
"""

SPIDER = """
import scrapy

class Numbers(scrapy.Spider):
    name = "numbers"

    async def start(self):
        for number in range({pages}):
            yield scrapy.Request("{site}/" + str(number))

    def parse(self, response):
        yield {{"number": int(response.text), "url": response.url}}
"""


class _Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.path.rsplit("/", 1)[-1].encode()
        if self.path.endswith(".png"):
            body = self.server.picture
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def site(picture=b""):
    """A site whose page ``/7`` says ``7``, and whose every ``.png`` is ``picture``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        server.daemon_threads = True
        server.picture = picture
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Crawl:
    """One crawl; its log grows in ``log``.

    Args:
        directory: An empty directory.
        spider: The spider's source.
        settings: On top of ``SETTINGS``.
    """

    def __init__(self, directory: Path, spider: str, **settings):
        (directory / "spider.py").write_text(spider)
        (directory / "settings.json").write_text(json.dumps(SETTINGS | settings))
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUNNER, directory / "settings.json", directory / "spider.py"],
                cwd=directory,
                env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def finish_reason(self) -> str | None:
        found = re.search(r"'finish_reason': '(\w+)'", self.log)
        return found and found[1]

    def stat(self, name: str) -> int:
        found = re.search(rf"'{re.escape(name)}': (\d+)", self.log)
        return int(found[1]) if found else 0

    def wait(self, timeout: float = 60) -> int:
        """Wait until the crawl has ended; its exit code."""
        return self.process.wait(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
