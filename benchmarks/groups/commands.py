"""Redis calls and bytes a page, of one worker at 20 links a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis

from benchmarks.lineup import OURS, SHARED, STOCK
from benchmarks.relay import relaying
from benchmarks.results import Row

if TYPE_CHECKING:
    from benchmarks.bench import Bench
    from benchmarks.sides import Side

BUDGET = "≤ 0.5"
#: What a client sends once for a connection, and what asks for these figures.
ONCE = {"auth", "client|setinfo", "hello", "info", "config|resetstat", "flushall", "ping", "select"}


def run(bench: Bench) -> None:
    """Add the rows; the peer of each is scrapy-redis."""
    stock = traffic(bench, STOCK)
    for name, side in (("same code", OURS), ("natural", SHARED)):
        ours = traffic(bench, side)
        for what, value in ours.items():
            bench.add(
                Row.of(
                    f"commands: {name}: {what} a page",
                    value,
                    "bytes" if "bytes" in what else "",
                    peer="scrapy-redis",
                    peer_value=stock[what],
                    budget=BUDGET if what == "calls" else None,
                )
            )


def traffic(bench: Bench, side: Side) -> dict[str, float]:
    """What one crawl sends to Redis, for each page.

    Calls are commands that a client sends; a relay counts them, since Redis counts what scripts call as well.
    """
    site = bench.site(bench.small)
    with redis.Redis.from_url(bench.redis.url) as client, relaying(bench.redis.url) as relay:
        client.config_resetstat()
        run = bench.crawl(side, site=site, url=relay.url)
        counts = relay.counts()
        stats: Any = client.info("commandstats")
    bench.same_work({side.name: [run]}, site.plan.expected(site.port), f"commands, {side.name}")
    executed = sum(found["calls"] for name, found in stats.items() if name.removeprefix("cmdstat_") not in ONCE)
    return {
        "calls": counts.commands / run.pages,
        "round trips": counts.round_trips / run.pages,
        "commands executed, also by scripts": executed / run.pages,
        "bytes sent": counts.sent / run.pages,
        "bytes received": counts.received / run.pages,
    }
