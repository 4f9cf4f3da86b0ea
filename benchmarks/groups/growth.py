"""What claim and ack cost the server while the queue grows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from benchmarks.figures import Figure
from benchmarks.frontier import Crawl
from benchmarks.results import Row
from spiders_project.frontier.contract import Ack

if TYPE_CHECKING:
    from benchmarks.bench import Bench

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000, 5_000_000), (10_000, 100_000)
HOSTS = 100
#: Batches of 64 in one measurement, and measurements of each size.
BATCHES, ROUNDS = 50, 3
CLAIMS = 64
BUDGET = "≤ 1.3"
#: The budget is about this size.
LARGE = 1_000_000


def run(bench: Bench) -> None:
    """Add a row for each size; the queue of ten thousand is measured again at the end, in case the machine slowed."""
    asyncio.run(_run(bench))
    bench.empty_redis()


async def _run(bench: Bench) -> None:
    sizes = QUICK_SIZES if bench.quick else SIZES
    small = await _at(bench, sizes[0])
    found = {}
    bench.empty_redis()
    crawl = await Crawl.new(bench.redis.url)
    queued = 0
    for size in sizes[1:]:
        await crawl.fill(size - queued, HOSTS, queued)
        queued = size
        found[size] = await _measure(crawl)
        bench.say(f"{size:,} queued: {Figure.of(found[size]).value:.2f} ms a batch")
    await crawl.close()
    small += await _at(bench, sizes[0])
    base = Figure.of(small)
    bench.add(Row.of(f"growth: claim+ack of {CLAIMS}, {sizes[0]:,} queued", base, "ms of Redis's CPU"))
    for size, costs in found.items():
        figure = Figure.of(costs)
        bench.add(Row.of(f"growth: claim+ack of {CLAIMS}, {size:,} queued", figure, "ms of Redis's CPU"))
        times = Figure(figure.value / base.value, figure.least / base.value, figure.most / base.value)
        budget = BUDGET if size <= LARGE else None
        name, peer = f"growth: {size:,} queued against {sizes[0]:,}", f"{sizes[0]:,} queued"
        bench.add(Row.of(name, times, "times", peer=peer, peer_value=1, budget=budget))


async def _at(bench: Bench, size: int) -> list[float]:
    bench.empty_redis()
    crawl = await Crawl.new(bench.redis.url)
    await crawl.fill(size, HOSTS, 0)
    found = await _measure(crawl)
    await crawl.close()
    return found


async def _measure(crawl: Crawl) -> list[float]:
    """Milliseconds of the server's CPU for a batch, several times; the queue is as long afterwards as before."""
    costs = []
    for number in range(ROUNDS):
        claims = (await crawl.say(want=CLAIMS)).claims
        started = crawl.cpu_seconds()
        for _ in range(BATCHES):
            claims = (await crawl.say(*(Ack(claim.request_id) for claim in claims), want=CLAIMS)).claims
        costs.append((crawl.cpu_seconds() - started) / BATCHES * 1000)
        await crawl.say(*(Ack(claim.request_id) for claim in claims))
        await crawl.fill((BATCHES + 1) * CLAIMS, HOSTS, 10**9 * (number + 1))
    return costs
