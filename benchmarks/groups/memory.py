"""Bytes of Redis for a URL that was seen and for a request that is queued."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import redis
from scrapy import Request, Spider
from scrapy_redis.queue import PriorityQueue

from benchmarks.frontier import BATCH, CHANCE, URL_BYTES, Crawl, puts
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.bench import Bench

SEEN, QUICK_SEEN = (10_000, 1_000_000, 10_000_000), (10_000, 200_000)
QUEUED, QUICK_QUEUED = 1_000_000, 50_000
#: Its bytes a URL do not depend on how many there are, and it is slow.
STOCK_QUEUED, STOCK_SEEN = 50_000, 200_000
HOSTS = 1000
#: The budget of the seen set holds from here on; smaller ones weigh nothing.
LARGE = 200_000


def run(bench: Bench) -> None:
    """Add the rows."""
    info = bench.redis_info("memory")
    bench.say(f"allocator of Redis: {info['mem_allocator']}")
    stock_seen = _stock(bench, STOCK_SEEN, _see)
    for count in QUICK_SEEN if bench.quick else SEEN:
        bench.empty_redis()
        cost, rate = asyncio.run(_seen(bench.redis.url, count))
        bench.say(f"{count:,} URLs seen: {cost:.1f} bytes each, {rate:,.0f} a second")
        bench.add(
            Row.of(
                f"memory: a seen URL, of {count:,}",
                cost,
                "bytes",
                peer="scrapy-redis",
                peer_value=stock_seen,
                budget="≤ 10" if count >= LARGE else "≤ 40",
            )
        )
    count = QUICK_QUEUED if bench.quick else QUEUED
    bench.empty_redis()
    cost, rate = asyncio.run(_queued(bench.redis.url, count))
    bench.say(f"{count:,} requests queued: {cost:.1f} bytes each, {rate:,.0f} a second")
    bench.add(
        Row.of(
            f"memory: a queued request, of {count:,}, URLs of {URL_BYTES} bytes, everything counted",
            cost,
            "bytes",
            peer="scrapy-redis",
            peer_value=_stock(bench, STOCK_QUEUED, _queue) + stock_seen,
            budget="≤ 330",
        )
    )
    bench.add(Row.of("memory: requests put into one Redis by one client, in batches of a thousand", rate, "a second"))
    bench.empty_redis()


async def _seen(url: str, count: int) -> tuple[float, float]:
    """Bytes a URL, and URLs a second."""
    crawl = await Crawl.new(url)
    started = time.perf_counter()
    for first in range(0, count, BATCH):
        await crawl.mark([str(CHANCE.getrandbits(64) - 2**63) for _ in range(min(BATCH, count - first))])
    rate = count / (time.perf_counter() - started)
    cost = (crawl.used() - crawl.empty) / count
    await crawl.close()
    return cost, rate


async def _queued(url: str, count: int) -> tuple[float, float]:
    """Bytes a request, and requests a second."""
    crawl = await Crawl.new(url)
    seconds = await crawl.fill(count, HOSTS)
    cost = (crawl.used() - crawl.empty) / count
    await crawl.close()
    return cost, count / seconds


def _stock(bench: Bench, count: int, fill: Callable[[Any, int], None]) -> float:
    """Bytes for each of ``count`` entries that ``fill`` makes as scrapy-redis does."""
    bench.empty_redis()
    with redis.Redis.from_url(bench.redis.url) as client:
        before = _used(client)
        fill(client, count)
        cost = (_used(client) - before) / count
    bench.empty_redis()
    return cost


def _used(client: Any) -> int:
    time.sleep(1)  # Redis looks at its clients' buffers now and then
    memory = client.info("memory")
    return int(memory["used_memory"] - memory["mem_clients_normal"])


def _see(client: Any, count: int) -> None:
    with client.pipeline(transaction=False) as pipeline:
        for number in range(count):
            pipeline.sadd("seen", CHANCE.randbytes(20).hex())
            if number % BATCH == BATCH - 1:
                pipeline.execute()
        pipeline.execute()


class _Pipelined:
    """Lets scrapy-redis's queue, which makes a call for each request, gather its calls."""

    def __init__(self, client: Any) -> None:
        self._pipeline = client.pipeline(transaction=False)
        self._waiting = 0

    def execute_command(self, *words: Any) -> None:
        self._pipeline.execute_command(*words)
        self._waiting += 1
        if self._waiting == BATCH:
            self.flush()

    def flush(self) -> None:
        self._pipeline.execute()
        self._waiting = 0


def _queue(client: Any, count: int) -> None:
    server = _Pipelined(client)
    queue = PriorityQueue(server, _Stock(name="stock"), "%(spider)s:requests")
    for put in puts(count, HOSTS):
        number = put.fingerprint.hex()
        start = f"https://{put.host}/"
        url = start + number.rjust(URL_BYTES - len(start), "0")
        queue.push(Request(url, callback=queue.spider.parse, meta={"depth": 3}))
    server.flush()


class _Stock(Spider):
    """Whose requests are queued."""

    def parse(self, response: Any) -> None:
        """Never called."""
