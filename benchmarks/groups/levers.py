"""What makes the natural crawl faster than plain Scrapy: each lever alone.

Plain Scrapy with one of our defaults at a time, and ours without one of them at a time. Asked for by name only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.figures import Figure, ratio
from benchmarks.lineup import SHARED, TUTORIAL
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.bench import Bench
    from benchmarks.sides import Side

ROUNDS, QUICK_ROUNDS = 2, 1
Options = dict[str, object]
NO_DEBUG: Options = {"LOG_LEVEL": "INFO"}
FEW_TASKS: Options = {"CONCURRENT_ITEMS": 8}
CONCURRENCY: Options = {"CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 4}
UVLOOP: Options = {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"}
TO_PLAIN: dict[str, Options] = {
    "as it is": {},
    "LOG_LEVEL=INFO": NO_DEBUG,
    "CONCURRENT_ITEMS=8": FEW_TASKS,
    "our concurrency": CONCURRENCY,
    "uvloop": UVLOOP,
    "all of these": {**NO_DEBUG, **FEW_TASKS, **CONCURRENCY, **UVLOOP},
}
FROM_OURS: dict[str, Options] = {
    "as it is": {},
    "LOG_LEVEL=DEBUG": {"LOG_LEVEL": "DEBUG"},
    "CONCURRENT_ITEMS=100": {"CONCURRENT_ITEMS": 100},
    "no memory of links seen (FRONTIER_LOCAL_SEEN=0)": {"FRONTIER_LOCAL_SEEN": 0},
    "Scrapy's concurrency": {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 8},
    "uvloop": UVLOOP,
}


def run(bench: Bench) -> None:
    """Add a row for each lever: the pages a second with it, as a multiple of those without it."""
    each(bench, "plain Scrapy with", TUTORIAL, TO_PLAIN)
    each(bench, "ours with", SHARED, FROM_OURS)


def each(bench: Bench, what: str, side: Side, levers: Mapping[str, Options]) -> None:
    """The rows of one side; all its variants take turns."""
    site = bench.site(bench.small)
    sides = {name: partial(bench.crawl, replace(side, options=options), site=site) for name, options in levers.items()}
    runs = bench.alternate(sides, QUICK_ROUNDS if bench.quick else ROUNDS, f"levers, {what}")
    valid = bench.same_work(runs, site.plan.expected(site.port), f"levers, {what}")
    base, *others = [(name, [run.rate for run in several]) for name, several in runs.items()]
    bench.add(Row.of(f"levers: {what} nothing changed", Figure.of(base[1]), "pages/s", valid=valid))
    for name, rates in others:
        bench.add(
            Row.of(f"levers: {what} {name}", ratio(rates, base[1]), "times", peer="without", peer_value=1, valid=valid)
        )
