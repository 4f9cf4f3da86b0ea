"""Pages lost, and pages fetched twice, for each kill -9 of a worker."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import redis

from benchmarks.errors import BenchError
from benchmarks.lineup import OURS, STOCK
from benchmarks.results import Row
from benchmarks.sides import Side, Worker, command, ended_with_the_block, environment
from benchmarks.site import Plan

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.bench import Bench

PAGES, QUICK_PAGES = 2000, 600
KILLS, QUICK_KILLS = 6, 2
#: Of each side, as Scrapy's default has it.
CONCURRENT_REQUESTS = 16
END_SECONDS = 120.0
LINES = "lines.jsonl"
#: Items are on disk when the pipeline returns; a feed's are not.
OPTIONS = {"ITEM_PIPELINES": {"benchmarks.peers.witness.JsonLines": 300}, "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS}


@dataclass(frozen=True)
class Loss:
    """What the kills of one crawl came to.

    Attributes:
        kills: How many workers were killed.
        lost: Pages without an item.
        twice: Fetches of pages that had been fetched.
    """

    kills: int
    lost: int
    twice: int


def run(bench: Bench) -> None:
    """Add the rows."""
    ours = crawl(bench, replace(OURS, options={**OPTIONS, "FRONTIER_LEASE_SECONDS": 4}, feed=False))
    stock = crawl(bench, replace(STOCK, options=OPTIONS, feed=False))
    bench.add(_row("pages lost", ours.lost / ours.kills, stock.lost / stock.kills, "= 0"))
    bench.add(
        _row("pages fetched twice", ours.twice / ours.kills, stock.twice / stock.kills, f"≤ {CONCURRENT_REQUESTS}")
    )


def _row(what: str, ours: float, stock: float, budget: str) -> Row:
    return Row.of(f"loss: {what} for each kill -9", ours, "pages", peer="scrapy-redis", peer_value=stock, budget=budget)


def crawl(bench: Bench, side: Side) -> Loss:
    """A crawl whose worker is killed several times, and each time followed by another."""
    site = bench.site(Plan(pages=QUICK_PAGES if bench.quick else PAGES, hosts=20), logged=True)
    site.forget_arrivals()
    bench.empty_redis()
    directory = bench.scratch(f"loss-{side.spider}")
    if side.seeds_key:
        with redis.Redis.from_url(bench.redis.url) as client:
            client.rpush(side.seeds_key, *site.seeds)
    variables = environment(side, site, site.seeds, {"REDIS_URL": bench.redis.url})
    wanted = QUICK_KILLS if bench.quick else KILLS
    kills = 0
    workers: list[Worker] = []

    def start() -> Worker:
        # A spider that starts from its own seeds queues them again in each worker, where they are known.
        workers.append(Worker(command(side), directory, variables, f"worker-{len(workers)}"))
        return workers[-1]

    with ended_with_the_block(workers):
        worker = start()
        for number in range(wanted):
            if not _reached(worker, directory / LINES, site.plan.pages * (number + 1) // (wanted + 1)):
                break  # it has lost so much that it has ended
            worker.kill()
            kills += 1
            worker = start()
        worker.wait(END_SECONDS)
    if not kills:
        raise BenchError(f"a worker of {side.name} ended before it could be killed")
    stored = _stored(directory / LINES)
    fetched = Counter(f"{host}{path}" for _, host, path in site.arrivals if path.startswith("/p/"))
    loss = Loss(kills, len(site.plan.expected(site.port) - stored), sum(fetched.values()) - len(fetched))
    bench.say(f"loss: {side.name}: {kills} kills, {loss.lost} pages lost, {loss.twice} fetched twice")
    return loss


def _stored(path: Path) -> set[str]:
    if not path.exists():
        return set()
    return {json.loads(line)["url"] for line in path.read_bytes().split(b"\n")[:-1]}


def _reached(worker: Worker, path: Path, pages: int) -> bool:
    deadline = time.monotonic() + END_SECONDS
    while worker.running and time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= pages:
            return True
        time.sleep(0.02)
    return False
