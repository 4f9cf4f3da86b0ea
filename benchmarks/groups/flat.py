"""A worker's resident memory over a long crawl of small pages. Asked for by name only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.lineup import SHARED
from benchmarks.results import Row
from benchmarks.site import Plan

if TYPE_CHECKING:
    from benchmarks.bench import Bench

PAGES, QUICK_PAGES = 200_000, 8000
#: The page at which the worker has grown to its size, and by how much it may still grow.
GROWN_SHARE = 10
BUDGET = "≤ 1.3"
SMALL_BYTES = 2000
HOSTS = 20
#: Rows of the curve.
POINTS = 10
MEGABYTE = 1e6
TIMEOUT = 1800.0


def run(bench: Bench) -> None:
    """Add the curve, and how many times the memory at a tenth of the crawl that at its end is."""
    pages = QUICK_PAGES if bench.quick else PAGES
    site = bench.site(Plan(pages=pages, hosts=HOSTS, page_bytes=SMALL_BYTES))
    with bench.watch.during("flat"):
        found = bench.crawl(replace(SHARED, feed=False), site=site, timeout=TIMEOUT)
    valid = bench.same_work({"ours": [found]}, site.plan.expected(site.port), "flat")
    curve = dict(found.memory)
    grown, last = curve[pages // GROWN_SHARE // 1000 * 1000 or 1000], found.memory[-1][1]
    for count in list(curve)[:: max(1, len(curve) // POINTS)]:
        bench.add(Row.of(f"flat: resident memory after {count:,} pages", curve[count] / MEGABYTE, "MB"))
    name, peer = f"flat: growth until {pages:,} pages", f"after {pages // GROWN_SHARE:,}"
    bench.add(Row.of(name, last / grown, "times", peer=peer, peer_value=1, budget=BUDGET, valid=valid))
