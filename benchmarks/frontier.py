"""What the frontier costs in Redis: bytes a queued request, bytes a seen URL, claim+ack in a small and a large queue.

It starts a redis-server of its own (from PATH, else the wheel of requirements-local.txt; ``--server`` names another):

    python benchmarks/frontier.py                    # everything, about two minutes
    python benchmarks/frontier.py --seen 10000000    # the seen set at ten million URLs
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import redis  # noqa: E402 - the project need not be installed
import redis.asyncio  # noqa: E402

from deploy.local.redis_server import RedisServer  # noqa: E402
from spiders_project.frontier import scripts  # noqa: E402
from spiders_project.frontier.codec import encode  # noqa: E402
from spiders_project.frontier.contract import Ack, Batch, Put, Terms  # noqa: E402
from spiders_project.frontier.redis_frontier import RedisFrontier, pack, packed_terms  # noqa: E402
from spiders_project.keys import Keys  # noqa: E402

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


async def queued(url: str, count: int, hosts: int) -> float:
    """Print bytes a queued request, everything counted, and puts a second."""
    crawl = await Crawl.new(url)
    seconds = await crawl.fill(count, hosts)
    cost = (crawl.used() - crawl.empty) / count
    rate = count / seconds
    print(f"queued request     {count:>10,} requests, {hosts:>6,} hosts  {cost:7.1f} bytes  {rate:9,.0f} puts/s")
    await crawl.close()
    return cost


async def seen(url: str, count: int) -> float:
    """Print bytes a URL in the seen set, and marks a second."""
    crawl = await Crawl.new(url)
    new = 0
    started = time.perf_counter()
    for first in range(0, count, BATCH):
        marks = [str(CHANCE.getrandbits(64) - 2**63) for _ in range(min(BATCH, count - first))]
        new += await crawl.mark(marks)
    seconds = time.perf_counter() - started
    assert new == count, "two random fingerprints of 64 bits are the same"
    cost = (crawl.used() - crawl.empty) / count
    print(f"seen URL           {count:>10,} URLs                    {cost:7.1f} bytes  {count / seconds:9,.0f} marks/s")
    await crawl.close()
    return cost


async def claiming(url: str, count: int, hosts: int, rounds: int) -> float:
    """Print the server's CPU milliseconds for a batch that acks 64 requests and claims 64."""
    crawl = await Crawl.new(url)
    await crawl.fill(count, hosts)
    claims = (await crawl.say(want=64)).claims
    started = crawl.cpu_seconds()
    for _ in range(rounds):
        claims = (await crawl.say(*(Ack(claim.request_id) for claim in claims), want=64)).claims
    cost = (crawl.cpu_seconds() - started) / rounds * 1000
    print(f"claim+ack of 64    {count:>10,} requests, {hosts:>6,} hosts  {cost:7.2f} ms of the server's CPU")
    await crawl.close()
    return cost


async def measure(url: str, arguments: argparse.Namespace) -> None:
    """Everything that was asked for."""
    with redis.Redis.from_url(url) as client:
        info: Any = client.info()
    print(f"Redis {info['redis_version']}, {info['mem_allocator']}, URLs of {URL_BYTES} bytes")
    await queued(url, arguments.queued, 1000)
    for count in arguments.seen:
        await seen(url, count)
    small = await claiming(url, 10_000, 100, arguments.rounds)
    large = await claiming(url, arguments.large, 100, arguments.rounds)
    again = await claiming(url, 10_000, 100, arguments.rounds)  # the machine may have slowed down meanwhile
    print(f"claim+ack, large against small: {2 * large / (small + again):.2f} times")


def main() -> None:
    """Start a server, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queued", type=int, default=100_000, help="queued requests whose memory is measured")
    parser.add_argument("--seen", type=int, nargs="*", default=[1000, 1_000_000], help="sizes of the seen set")
    parser.add_argument("--large", type=int, default=1_000_000, help="the large queue of the claim+ack comparison")
    parser.add_argument("--rounds", type=int, default=150, help="batches of claim+ack that are timed")
    parser.add_argument("--server", type=Path, help="the redis-server to start")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="bench-frontier-"))
    server = RedisServer(directory / "redis", options={"appendonly": "no"}, binary=arguments.server)
    try:
        server.start()
        asyncio.run(measure(server.url, arguments))
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
