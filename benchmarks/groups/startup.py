"""Seconds from scheduling a job on a Scrapyd node until its first page is asked for."""

from __future__ import annotations

import io
import time
import zipfile
from typing import TYPE_CHECKING

import redis

from benchmarks.errors import BenchError
from benchmarks.figures import Figure
from benchmarks.results import Row
from benchmarks.site import Plan
from benchmarks.site_server import ROOT
from deploy.client import NodeClient
from deploy.egg import build_egg
from deploy.local.scrapyd_node import ScrapydNode
from deploy.targets import Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.bench import Bench
    from benchmarks.site_server import SiteServer

ROUNDS, QUICK_ROUNDS = 3, 1
FIRST_PAGE_SECONDS = 60.0
PLAIN = {
    "plain/__init__.py": "",
    "plain/settings.py": 'BOT_NAME = "plain"\nSPIDER_MODULES = ["plain.spiders"]\n',
    "plain/spiders/__init__.py": "",
    "plain/spiders/page.py": (
        "import os\nimport scrapy\n\n\nclass PageSpider(scrapy.Spider):\n"
        '    name = "page"\n    start_urls = os.environ["BENCH_SEEDS"].split()\n\n'
        '    def parse(self, response):\n        yield {"url": response.url}\n'
    ),
    "EGG-INFO/PKG-INFO": "Metadata-Version: 1.0\nName: plain\nVersion: 1\n",
    "EGG-INFO/entry_points.txt": "[scrapy]\nsettings = plain.settings\n",
    "EGG-INFO/top_level.txt": "plain\n",
}


def run(bench: Bench) -> None:
    """Add a row: ours (the spider ``site``, Redis and MongoDB) against an empty Scrapy project, turn by turn."""
    site = bench.site(Plan(pages=200, hosts=2), logged=True)
    directory = bench.scratch("node")
    settings = {
        "REDIS_URL": bench.redis.url,
        "MONGO_URI": bench.mongo.url,
        "MONGO_DATABASE": "benchmark_startup",
        "BENCH_SEEDS": site.seeds[0],
    }
    scrapyd = ScrapydNode(directory, name="node1", settings=settings)
    try:
        scrapyd.start()
        node = Node("node1", scrapyd.url, username=scrapyd.username, password=scrapyd.password)
        client = NodeClient(node)
        client.add_version("spiders_project", "v1", build_egg(ROOT))
        client.add_version("plain", "v1", plain_egg())
        ours, plain = [], []
        for number in range((QUICK_ROUNDS if bench.quick else ROUNDS) + 1):
            with bench.watch.during("startup"):
                found = (_ours(bench, client, site), _plain(client, site))
            bench.say(f"startup: ours {found[0]:.2f} s, plain Scrapy {found[1]:.2f} s")
            if number:
                ours.append(found[0])
                plain.append(found[1])
    finally:
        scrapyd.stop()
    figure = Figure.of(ours)
    name = "startup: from schedule.json to the first page (Scrapyd polls each 0.5 s)"
    bench.add(Row.of(name, figure, "s", peer="an empty Scrapy project", peer_value=Figure.of(plain).value))


def plain_egg() -> bytes:
    """A Scrapy project with nothing in it but a spider."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in PLAIN.items():
            archive.writestr(name, text)
    return data.getvalue()


def _ours(bench: Bench, client: NodeClient, site: SiteServer) -> float:
    bench.empty_redis()
    with redis.Redis.from_url(bench.redis.url) as database:
        database.rpush("site:start_urls", site.seeds[0])
    return _first_page(client, "spiders_project", "site", site)


def _plain(client: NodeClient, site: SiteServer) -> float:
    return _first_page(client, "plain", "page", site)


def _first_page(client: NodeClient, project: str, spider: str, site: SiteServer) -> float:
    """Schedule a job, wait for its first page, and end it."""
    site.forget_arrivals()
    started = time.time()
    job = client.schedule(project, spider, _version="v1")
    at = _wait(
        lambda: next((at for at, _, path in site.arrivals if path.startswith("/p/")), None),
        f"job {job} of {project} asked for no page",
    )
    for _ in range(2):  # twice is at once, for Scrapy
        if client.job_status(project, job) == "running":
            client.cancel(project, job)
    _wait(lambda: client.job_status(project, job) == "finished" or None, f"job {job} of {project} did not end")
    return at - started


def _wait(look: Callable[[], float | None], failure: str) -> float:
    deadline = time.monotonic() + FIRST_PAGE_SECONDS
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise BenchError(f"{failure} within {FIRST_PAGE_SECONDS:.0f} s")
