"""The frontier without Scrapy: a worker that says what the memory and growth groups want said."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import TYPE_CHECKING, Any

import redis
import redis.asyncio

from spiders_project.frontier import scripts
from spiders_project.frontier.codec import encode
from spiders_project.frontier.contract import Batch, Put, Terms
from spiders_project.frontier.redis_frontier import RedisFrontier, pack, packed_terms
from spiders_project.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator

URL_BYTES = 104
BATCH = 1000
CHANCE = random.Random(1)  # the same URLs in each run


def puts(count: int, hosts: int, first: int = 0) -> Iterator[Put]:
    """Requests as link following makes them: a URL of 104 bytes, a callback, a depth."""
    for number in range(first, first + count):
        host = f"host{number % hosts}.example"
        start = f"https://{host}/"
        url = start + f"{number:0{URL_BYTES - len(start)}d}"
        payload = encode({"url": url, "callback": "parse", "meta": {"depth": 3}}, 1 << 20)
        yield Put(payload, host, fingerprint=CHANCE.randbytes(8))


class Crawl:
    """A crawl of one worker on an empty Redis."""

    def __init__(self, url: str) -> None:
        self.server = redis.Redis.from_url(url)
        terms = Terms(seeds_key="bench:start_urls")
        self.client = redis.asyncio.Redis.from_url(url)
        self.frontier = RedisFrontier(self.client, Keys("bench"), "w", terms)
        self.sequence = 0
        self.empty = 0

    @classmethod
    async def new(cls, url: str) -> Crawl:
        """A crawl whose scripts Redis knows already, and whose buffers have grown: they are no cost of a request."""
        crawl = cls(url)
        await crawl.say(*puts(BATCH, 10), want=64)
        await crawl.mark([str(mark) for mark in range(BATCH)])
        crawl.server.flushall()
        crawl.sequence = 0
        crawl.empty = crawl.used()
        return crawl

    def used(self) -> int:
        """Bytes that Redis has allocated, but for the buffers of connections."""
        time.sleep(1)  # Redis looks at its clients' buffers now and then
        memory: Any = self.server.info("memory")
        return int(memory["used_memory"] - memory["mem_clients_normal"])

    def cpu_seconds(self) -> float:
        """CPU time of the server: it hardly notices what else the machine does."""
        cpu: Any = self.server.info("cpu")
        return float(cpu["used_cpu_user"] + cpu["used_cpu_sys"])

    async def say(self, *operations: Any, want: int = 0) -> Any:
        """One batch."""
        self.sequence += 1
        return await self.frontier.exchange(Batch(self.sequence, operations, want))

    async def mark(self, marks: list[str]) -> int:
        """Mark fingerprints without requests, as an import does; how many are new."""
        head = (self.frontier.keys.namespace, self.frontier.worker, packed_terms(self.frontier.terms))
        found: Any = await scripts.run(
            self.client, "import", self.frontier.keys.requests, (*head, pack([("seen", *marks)]))
        )
        return int(found)

    async def fill(self, count: int, hosts: int, first: int = 0) -> float:
        """Put ``count`` requests, numbered from ``first``; seconds. One batch is made while another is under way."""
        started = time.perf_counter()
        under_way: asyncio.Future[Any] | None = None
        requests = puts(count, hosts, first)
        while batch := list(itertools.islice(requests, BATCH)):
            if under_way:
                await under_way
            under_way = asyncio.ensure_future(self.say(*batch))
            await asyncio.sleep(0)  # it is sent now
        if under_way:
            await under_way
        return time.perf_counter() - started

    async def close(self) -> None:
        """Close connections."""
        await self.frontier.close()
        self.server.close()
