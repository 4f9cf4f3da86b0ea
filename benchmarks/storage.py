"""What storing items costs: ``python benchmarks/storage.py`` (about two minutes).

Two questions, each answered by plain Scrapy workers on one core against a site and a mongod on loopback:

1. Pages a second with and without storage, one item a page, in alternating runs. The budget is 5 %.
2. Items a second of one worker at 100 items a page. The target is 5,000.

CPU seconds of the worker are shown beside the wall clock: they hardly notice what else the machine does.
Each run ends with what it counted in MongoDB, so that no figure comes from items that were not stored.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import scrapy  # noqa: E402 - the project need not be installed
from pymongo import MongoClient  # noqa: E402
from scrapy import signals  # noqa: E402
from scrapy.crawler import AsyncCrawlerProcess  # noqa: E402

from deploy.local.mongo_server import MongoServer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE = "benchmark"
LINKS = "".join(f'<li><a href="/page/{n}">Link number {n} of this page</a></li>' for n in range(20))
TEXT = "".join(f"<p>Paragraph {n}: {'a text of the usual length, ' * 8}</p>" for n in range(20))
ROWS = "".join(
    f'<li class="item"><b>Thing {n}</b> <i>{n}.50</i> <u>a line about it, {"and more " * 5}</u></li>'
    for n in range(100)
)
PAGES = {
    kind: f"<html><head><title>A page</title></head><body><ul>{body}</ul></body></html>".encode()
    for kind, body in {"page": LINKS + TEXT, "list": ROWS}.items()
}
SETTINGS = {
    "LOG_LEVEL": "ERROR",
    "LOG_FORMATTER": "spiders_project.logformatter.LogFormatter",
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_ITEMS": 8,
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "DOWNLOAD_DELAY": 0,
}
STORAGE = {
    "ITEM_PROCESSOR": "spiders_project.items.processor.DeliveringItemProcessor",
    "ITEM_PIPELINES": {
        "spiders_project.pipelines.validate.ValidatePipeline": 100,
        "spiders_project.pipelines.normalise.NormalisePipeline": 200,
        "spiders_project.pipelines.mongo.MongoPipeline": 800,
    },
    "MONGO_DATABASE": DATABASE,
}


class BenchmarkSpider(scrapy.Spider):
    """Fetches ``pages`` pages of ``kind``; yields an item a page, or a hundred."""

    name = "benchmark"

    async def start(self) -> Any:
        for number in range(int(self.pages)):
            yield scrapy.Request(f"{self.site}/{self.kind}/{number}", dont_filter=True)

    def parse(self, response: Any) -> Any:
        if self.kind == "list":
            for row in response.css("li.item"):
                yield {
                    "name": row.css("b::text").get(),
                    "price": row.css("i::text").get(),
                    "about": row.css("u::text").get(),
                    "url": response.url,
                    "number": 1,
                }
            return
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "text": "\n".join(response.css("p::text").getall()),
            "links": [response.urljoin(link) for link in response.css("a::attr(href)").getall()],
        }


class RowsSpider(BenchmarkSpider):
    """Yields a hundred items without parsing: what is left is Scrapy and the storage."""

    name = "rows"

    def parse(self, response: Any) -> Any:
        page = response.url
        for number in range(100):
            yield {
                "name": f"Thing {number}",
                "price": 1.5,
                "about": "a line about it, and more and more and more",
                "url": page,
                "number": number,
            }


def worker(options: argparse.Namespace) -> None:
    """One crawl; prints its figures as JSON."""
    figures: dict[str, float] = {}
    settings = SETTINGS | (STORAGE if options.storage else {})
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(RowsSpider if options.rows else BenchmarkSpider)

    def started() -> None:
        figures.update(seconds=-time.monotonic(), cpu=-time.process_time())

    def closed() -> None:
        figures["seconds"] += time.monotonic()
        figures["cpu"] += time.process_time()
        figures["pages"] = crawler.stats.get_value("response_received_count", 0)
        figures["items"] = crawler.stats.get_value("item_scraped_count", 0)

    crawler.signals.connect(started, signals.engine_started, weak=False)
    crawler.signals.connect(closed, signals.engine_stopped, weak=False)
    process.crawl(crawler, site=options.site, pages=options.pages, kind=options.kind)
    process.start()
    print(json.dumps(figures))


class Site(asyncio.Protocol):
    """Answers ``GET /page/…`` and ``GET /list/…`` as fast as Python can."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for request in data.split(b"\r\n\r\n")[:-1]:
            body = PAGES["list" if request.startswith(b"GET /list") else "page"]
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )


async def serve() -> None:
    """The site, until it is killed; prints its address first."""
    server = await asyncio.get_running_loop().create_server(Site, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@contextmanager
def running_site() -> Iterator[str]:
    """The site in a process of its own."""
    with subprocess.Popen([sys.executable, __file__, "site"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Bench:
    """Runs workers one after the other."""

    def __init__(self, site: str, uri: str) -> None:
        self._site = site
        self._uri = uri
        self._client: MongoClient[dict[str, Any]] = MongoClient(uri)

    def run(self, kind: str, pages: int, *flags: str) -> dict[str, float]:
        """One worker's figures; fails unless MongoDB holds what it says it stored."""
        self._client.drop_database(DATABASE)
        # The keyless items of plain Scrapy's scheduler have no request to be told apart by.
        keys = ["url"] if kind == "page" else ["url", "number" if "--rows" in flags else "name"]
        environment = {**os.environ, "BENCHMARK_URI": self._uri, "BENCHMARK_KEYS": json.dumps({"dict": keys})}
        command = [sys.executable, __file__, "worker", "--site", self._site, "--kind", kind]
        done = subprocess.run(
            [*command, "--pages", str(pages), *flags], env=environment, stdout=subprocess.PIPE, check=True
        )
        figures: dict[str, float] = json.loads(done.stdout)
        stored = self._client[DATABASE]["items"].count_documents({})
        expected = figures["items"] if "--storage" in flags else 0
        if stored != expected:
            raise SystemExit(f"{stored} documents stored instead of {expected}")
        return figures

    def cost(self, pages: int, rounds: int) -> None:
        """Pages a second without and with storage, in alternating runs."""
        runs: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
        for number in range(rounds):
            for name in ("without", "with"):
                figures = self.run("page", pages, *(["--storage"] if name == "with" else []))
                runs[name].append(figures)
                speed, cpu = figures["pages"] / figures["seconds"], figures["cpu"] / figures["pages"]
                print(f"{number + 1}: {name:7} storage {speed:7.0f} pages/s {cpu * 1e3:.3f} CPU ms a page")
        rate = {name: median(one["pages"] / one["seconds"] for one in runs[name]) for name in runs}
        cpu = {name: min(one["cpu"] / one["pages"] for one in runs[name]) for name in runs}
        print(
            f"one item a page: {rate['without']:.0f} → {rate['with']:.0f} pages/s (medians):"
            f" storing costs {(1 - rate['with'] / rate['without']):.1%} of pages/s,"
            f" {(cpu['with'] / cpu['without'] - 1):.1%} of the worker's CPU (best runs)"
        )

    def throughput(self, pages: int, rounds: int) -> None:
        """Items a second of one worker, parsing included and not."""
        for title, flags in (("parsed from HTML", []), ("not parsed", ["--rows"])):
            for storage in ([], ["--storage"]):
                runs = [self.run("list", pages, *flags, *storage) for _ in range(rounds)]
                rate = median(one["items"] / one["seconds"] for one in runs)
                cpu = min(one["cpu"] / one["items"] for one in runs)
                print(
                    f"100 items a page, {title}, {'with' if storage else 'without'} storage:"
                    f" {rate:.0f} items/s, {cpu * 1e6:.0f} CPU µs an item ({1 / cpu:.0f} a CPU second)"
                )


def main() -> None:
    """Parse the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb")
    verbs.add_parser("site")
    one = verbs.add_parser("worker")
    for name in ("site", "kind", "pages"):
        one.add_argument(f"--{name}", required=True)
    for name in ("storage", "rows"):
        one.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--pages", type=int, default=2000, help="pages a run (default: 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind (default: 5)")
    options = parser.parse_args()
    if options.verb == "site":
        asyncio.run(serve())
    elif options.verb == "worker":
        STORAGE["MONGO_URI"] = os.environ["BENCHMARK_URI"]
        STORAGE["ITEM_KEYS"] = json.loads(os.environ["BENCHMARK_KEYS"])
        worker(options)
    else:
        with tempfile.TemporaryDirectory() as directory, running_site() as site:
            server = MongoServer(Path(directory))
            server.start()
            try:
                bench = Bench(site, server.url)
                bench.cost(options.pages, options.rounds)
                bench.throughput(options.pages // 8, max(1, options.rounds // 2))
            finally:
                server.stop()


if __name__ == "__main__":
    main()
