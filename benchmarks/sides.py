"""One crawl by one side: real processes, and what they did."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.site_server import SiteServer

ROOT = Path(__file__).resolve().parents[1]
FEED = "items.jsonl"
LOG_TAIL = 2000


@dataclass(frozen=True)
class Side:
    """How one side crawls.

    Attributes:
        name: What the table calls it.
        spider: Its spider, of ``benchmarks.peers.spiders``.
        settings: Its settings module, of ``benchmarks.peers``.
        options: Further settings.
        workers: Its processes.
        split: Whether they share nothing, so that each crawls a part of the site.
        seeds_key: The list that the seeds are pushed to, where the spider does not start from them itself.
        feed: Whether items go to a feed.
        until_closed: Whether the clock runs until the spider is closed, and its pipelines have stored what they had.
    """

    name: str
    spider: str
    settings: str
    options: Mapping[str, object] = field(default_factory=dict)
    workers: int = 1
    split: bool = False
    seeds_key: str = ""
    feed: bool = True
    until_closed: bool = False


@dataclass(frozen=True)
class Run:
    """What one crawl came to.

    Attributes:
        pages: Pages fetched.
        seconds: From the first worker's start of its engine to the last page or item, or to the spider's end.
        cpu: CPU seconds of the workers in that time.
        page_set: A hash of the URLs fetched.
        item_set: A hash of what the feeds hold.
        items: How many items were scraped.
        again: Seeds that were fetched once more when a link led to them, as Scrapy and scrapy-redis do.
        repeated: Other pages that were fetched more than once.
        trouble: Counts of what went wrong: errors, retries, exceptions.
        memory: Resident bytes of the first worker by its pages.
        site_share: The share of a core that the site's server used.
        stats: The stats of the first worker.
    """

    pages: int
    seconds: float
    cpu: float
    page_set: str
    item_set: str
    items: int
    again: int
    repeated: int
    trouble: Mapping[str, int]
    memory: Sequence[tuple[int, int]]
    site_share: float
    stats: Mapping[str, Any]

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds


def digest(values: Sequence[str]) -> str:
    """A hash that tells sets of strings apart, in whatever order and however often they come."""
    return hashlib.sha256("\n".join(sorted(set(values))).encode()).hexdigest()[:16]


def differences(runs: Sequence[Run], expected: set[str]) -> list[str]:
    """In which way the runs did not do the same work, in words; nothing where they did.

    Args:
        runs: The runs of all sides of a comparison.
        expected: The pages that each of them had to fetch.
    """
    found = []
    if any(run.page_set != digest([*expected]) for run in runs):
        found.append(f"not all fetched the {len(expected)} pages of the site ({[run.pages for run in runs]})")
    if len({run.item_set for run in runs}) > 1 or len({run.items - run.again for run in runs}) > 1:
        found.append(f"the items differ ({[run.items for run in runs]})")
    if repeated := sum(run.repeated for run in runs):
        found.append(f"{repeated} pages were fetched twice")
    if trouble := [dict(run.trouble) for run in runs if run.trouble]:
        found.append(f"something failed: {trouble[0]}")
    return found


def command(side: Side) -> list[str]:
    """The command line of a worker; no address with a password stands in it."""
    words = [sys.executable, "-m", "scrapy", "crawl", side.spider]
    if side.feed:
        words += ["-O", f"{FEED}:jsonlines"]
    for name, value in side.options.items():
        words += ["-s", f"{name}={json.dumps(value) if isinstance(value, dict | list) else value}"]
    return words


def environment(side: Side, site: SiteServer, seeds: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCRAPY_SETTINGS_MODULE": f"benchmarks.peers.{side.settings}",
        "BENCH_SEEDS": "" if side.seeds_key else " ".join(seeds),
        "BENCH_DOMAINS": " ".join(site.plan.addresses),
        **variables,
    }


class Worker:
    """One process of a side, in a directory of its own unless it is given one."""

    def __init__(
        self, words: Sequence[str], directory: Path, variables: Mapping[str, str], name: str = "worker"
    ) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.log_file = directory / f"{name}.log"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                words,
                cwd=directory,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the bench, which ends its workers itself
            )

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End it and its children at once."""
        if self.running:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended by itself.

        Raises:
            BenchError: It failed, or did not end in time; shows the end of its log.
        """
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise BenchError(f"a worker did not end within {seconds:.0f} s{self.tail()}") from None
        if code:
            raise BenchError(f"a worker ended with exit code {code}{self.tail()}")

    def tail(self) -> str:
        """The end of its log."""
        return f"; the end of {self.log_file}:\n{self.log_file.read_text(errors='replace')[-LOG_TAIL:]}"

    def said(self) -> dict[str, Any]:
        """What its witness wrote.

        Raises:
            BenchError: Nothing.
        """
        path = self.directory / f"{self.process.pid}.json"
        if not path.exists():
            raise BenchError(f"a worker left no figures{self.tail()}")
        said: dict[str, Any] = json.loads(path.read_text())
        return {**said, "urls": path.with_suffix(".urls").read_text().splitlines()}


@contextmanager
def ended_with_the_block(workers: Sequence[Worker]) -> Iterator[None]:
    """Kill what still runs of the workers."""
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()


def crawl(side: Side, site: SiteServer, directory: Path, variables: Mapping[str, str], *, timeout: float) -> Run:
    """Crawl the whole site once.

    Args:
        side: Who crawls.
        site: What is crawled; it runs.
        directory: Where the workers may write; new.
        variables: Environment of the workers: where Redis is.
        timeout: Seconds after which it is given up.

    Raises:
        BenchError: A worker failed, or all together fetched nothing.
    """
    workers: list[Worker] = []
    before, started = site.cpu_seconds(), time.monotonic()
    with ended_with_the_block(workers):
        for number in range(side.workers):
            seeds = site.plan.seeds(site.port, number) if side.split else site.seeds
            words = command(side)
            workers.append(Worker(words, directory / str(number), environment(side, site, seeds, variables)))
        for worker in workers:
            worker.wait(timeout)
    site_cpu, elapsed = site.cpu_seconds() - before, time.monotonic() - started
    said = [worker.said() for worker in workers]
    urls = [url for one in said for url in one["urls"]]
    if not urls:
        raise BenchError(f"{side.name} fetched nothing{workers[0].tail()}")
    feeds = [path.read_text() for worker in workers if (path := worker.directory / FEED).exists()]
    trouble: dict[str, int] = {}
    for one in said:
        for name, count in one["trouble"].items():
            trouble[name] = trouble.get(name, 0) + count
    again = sum(urls.count(url) - 1 for url in site.seeds if url in urls)
    end = "closed" if side.until_closed else "last"
    seconds = max(one[end] for one in said) - min(one["started"] for one in said)
    return Run(
        pages=len(urls),
        seconds=seconds,
        cpu=sum(one[f"cpu_{end}"] for one in said),
        page_set=digest(urls),
        item_set=digest([line for feed in feeds for line in feed.splitlines()]),
        items=sum(one["items"] for one in said),
        again=again,
        repeated=len(urls) - len(set(urls)) - again,
        trouble=trouble,
        memory=[tuple(pair) for pair in said[0]["memory"]],
        site_share=site_cpu / max(seconds, 0.001) if elapsed else 0.0,
        stats=said[0]["stats"],
    )
