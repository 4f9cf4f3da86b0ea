"""Pages a second while Redis is farther and farther away."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.figures import Figure, ratio
from benchmarks.lineup import OURS, SHARED, STOCK
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.bench import Bench
    from benchmarks.sides import Side
    from benchmarks.site import Plan

ADDED_MS = (0.0, 0.5, 1.0)
STOCK_ADDED_MS = (0.0, 0.5)
ROUNDS = 1


def run(bench: Bench) -> None:
    """Add rows for each side and distance: its pages a second, and how many times those beside Redis that is.

    The throughput group has warmed everything up.
    """
    curve(bench, "ours, same code", OURS, ADDED_MS, bench.small)
    if not bench.quick:
        curve(bench, "ours, natural", SHARED, ADDED_MS, bench.small)
        curve(bench, "scrapy-redis", STOCK, STOCK_ADDED_MS, bench.tiny)


def curve(bench: Bench, name: str, side: Side, distances: Sequence[float], plan: Plan) -> None:
    """The rows of one side."""
    site = bench.site(plan)
    sides = {f"{ms:g} ms": partial(bench.crawl, side, ms, site=site) for ms in distances}
    runs = bench.alternate(sides, ROUNDS, f"latency, {name}", warm_up={})
    valid = bench.same_work(runs, site.plan.expected(site.port), f"latency, {name}")
    near = [run.rate for run in runs["0 ms"]]
    for ms, several in runs.items():
        rates = [run.rate for run in several]
        bench.add(Row.of(f"latency: {name}, Redis {ms} farther", Figure.of(rates), "pages/s", valid=valid))
        if ms != "0 ms":
            row = f"latency: {name}, Redis {ms} farther, against beside it"
            bench.add(Row.of(row, ratio(rates, near), "times", peer="Redis beside it", peer_value=1, valid=valid))
