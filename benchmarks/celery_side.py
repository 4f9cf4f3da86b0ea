"""A crawl by the Celery crawler, measured like those of Scrapy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import redis

from benchmarks.errors import BenchError
from benchmarks.sides import ROOT, Run, Worker, digest, ended_with_the_block

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.bench import Bench
    from benchmarks.site_server import SiteServer

#: Without a new page for so long (s) it has stopped.
PATIENCE = 20.0
POLL_SECONDS = 0.2
END_SECONDS = 10.0
START = "from benchmarks.peers.celery_app import crawl; import sys\nfor url in sys.argv[1:]: crawl.delay(url)"


def crawl(bench: Bench, site: SiteServer, milliseconds: float = 0.0) -> Run:
    """Crawl the whole site by one ``celery worker`` at its defaults, which are one process for each core.

    Raises:
        BenchError: It failed, or Celery is not installed.
    """
    if find_spec("celery") is None:
        raise BenchError("Celery is not installed: pip install -r requirements-bench.txt")
    bench.empty_redis()
    directory = bench.scratch("celery")
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "BENCH_BROKER": bench.redis_url(milliseconds),
        "BENCH_DOMAINS": " ".join(site.plan.addresses),
    }
    with redis.Redis.from_url(bench.redis.url) as client:
        client.sadd("seen", *site.seeds)
    before = site.cpu_seconds()
    words = [sys.executable, "-m", "celery", "-A", "benchmarks.peers.celery_app", "worker", "--loglevel", "WARNING"]
    worker = Worker(words, directory, variables)
    with ended_with_the_block([worker]):
        Worker([sys.executable, "-c", START, *site.seeds], directory, variables, "start").wait(60)
        lines = _wait(worker, directory / "lines.jsonl", site.plan.pages)
        # Not at once, or its children's CPU time would count as that of other programs.
        worker.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(END_SECONDS)
    site_cpu = site.cpu_seconds() - before
    shutil.rmtree(directory)
    urls = [line["url"] for line in lines]
    seconds = max(line["ended"] for line in lines) - min(line["started"] for line in lines)
    items = [json.dumps({"url": line["url"], "title": line["title"]}) for line in lines]
    return Run(
        pages=len(urls),
        seconds=seconds,
        cpu=0.0,
        page_set=digest(urls),
        item_set=digest(items),
        items=len(items),
        again=0,
        repeated=len(urls) - len(set(urls)),
        trouble={},
        memory=[],
        site_share=site_cpu / seconds,
        stats={},
    )


def _wait(worker: Worker, path: Path, pages: int) -> list[dict[str, Any]]:
    """The lines of its file, once it has all pages, or no new ones come."""
    count, since = 0, time.monotonic()
    while time.monotonic() - since < PATIENCE:
        if not worker.running:
            raise BenchError(f"the Celery worker ended by itself{worker.tail()}")
        found = path.read_bytes().count(b"\n") if path.exists() else 0
        if found >= pages:
            break
        if found > count:
            count, since = found, time.monotonic()
        time.sleep(POLL_SECONDS)
    if not path.exists():
        raise BenchError(f"the Celery worker fetched nothing{worker.tail()}")
    return [json.loads(line) for line in path.read_text().splitlines()]
