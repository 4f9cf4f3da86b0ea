"""How much of what the hosts' limits allow eight workers use, and how often they break them."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import redis

from benchmarks.errors import BenchError
from benchmarks.lineup import SHARED, STOCK
from benchmarks.results import Row
from benchmarks.sides import Side, Worker, command, ended_with_the_block, environment
from benchmarks.site import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.bench import Bench
    from benchmarks.site_server import SiteServer

DELAY = 1.0
WORKERS, QUICK_WORKERS = 8, 3
HOSTS, QUICK_HOSTS = 200, 60
#: Seconds until each host has several links queued, and seconds that count.
WARM, WINDOW, QUICK_WINDOW = 6.0, 24.0, 8.0
#: Seconds by which arrivals may seem nearer than they were sent: the server writes its log when it gets to it.
MEASURED = 0.02
START_SECONDS = 60.0

OPTIONS = {"DOWNLOAD_DELAY": DELAY, "DOWNLOAD_DELAY_JITTER": 0, "ROBOTSTXT_OBEY": False}
OURS = replace(SHARED, options=OPTIONS, seeds_key="shared:start_urls", feed=False)
THEIRS = replace(STOCK, options=OPTIONS, feed=False)


@dataclass(frozen=True)
class Manners:
    """What the server saw.

    Attributes:
        share: Requests, of those that the limits allow.
        violations: Requests that came too soon after the one before.
        requests: All of them.
        nearest: The least seconds between two requests to one host.
    """

    share: float
    violations: int
    requests: int
    nearest: float


def manners(arrivals: Sequence[tuple[float, str, str]], hosts: int, begin: float, end: float) -> Manners:
    """What arrivals (time, host, path) between two times come to."""
    times = defaultdict(list)
    for at, host, _ in arrivals:
        if begin <= at < end:
            times[host].append(at)
    gaps = [b - a for found in times.values() for a, b in itertools.pairwise(sorted(found))]
    requests = sum(len(found) for found in times.values())
    allowed = hosts * (end - begin) / DELAY
    too_soon = sum(gap < DELAY - MEASURED for gap in gaps)
    return Manners(requests / allowed, too_soon, requests, min(gaps, default=end - begin))


def run(bench: Bench) -> None:
    """Add the rows."""
    workers = QUICK_WORKERS if bench.quick else WORKERS
    hosts = QUICK_HOSTS if bench.quick else HOSTS
    window = QUICK_WINDOW if bench.quick else WINDOW
    pages = int(hosts * (WARM + window + 20) / DELAY)
    site = bench.site(Plan(pages=pages, hosts=hosts, closed=True), logged=True)
    what = f"{workers} workers, {hosts} hosts, {DELAY:g} s delay"
    ours = crawl(bench, OURS, site, workers, window)
    stock = crawl(bench, THEIRS, site, workers, window)
    bench.add(
        Row.of(
            f"politeness: {what}: requests, of those allowed",
            ours.share,
            "",
            peer="scrapy-redis",
            peer_value=stock.share,
            budget="≥ 0.95",
        )
    )
    bench.add(
        Row.of(
            f"politeness: {what}: the least time between two requests to a host",
            ours.nearest,
            "s",
            peer="scrapy-redis",
            peer_value=stock.nearest,
        )
    )
    bench.add(
        Row.of(
            f"politeness: {what}: requests that came too soon, of {ours.requests}",
            ours.violations,
            "",
            peer=f"scrapy-redis, of {stock.requests}",
            peer_value=stock.violations,
            budget="= 0",
        )
    )


def crawl(bench: Bench, side: Side, site: SiteServer, workers: int, window: float) -> Manners:
    """Let the workers of a side crawl for a while."""
    bench.empty_redis()
    directory = bench.scratch(f"polite-{side.spider}")
    variables = environment(side, site, [], {"REDIS_URL": bench.redis.url})
    started: list[Worker] = []
    with bench.watch.during(f"politeness, {side.name}"), ended_with_the_block(started):
        started += (Worker(command(side), directory / str(number), variables) for number in range(workers))
        _wait_open(started)
        site.forget_arrivals()
        with redis.Redis.from_url(bench.redis.url) as client:
            client.rpush(side.seeds_key, *site.seeds)
        time.sleep(WARM)
        begin = time.time()
        time.sleep(window)
    found = manners(site.arrivals, site.plan.hosts, begin, begin + window)
    soon = f"{found.violations} too soon, the nearest after {found.nearest:.3f} s"
    bench.say(f"politeness: {side.name}: {found.requests} requests, {found.share:.1%}, {soon}")
    return found


def _wait_open(workers: Sequence[Worker]) -> None:
    deadline = time.monotonic() + START_SECONDS
    for worker in workers:
        while "Spider opened" not in worker.log_file.read_text(errors="replace"):
            if not worker.running or time.monotonic() > deadline:
                raise BenchError(f"a worker did not start{worker.tail()}")
            time.sleep(0.1)
