"""Pages a second of one and two workers, with the same code and as people naturally write it.

*Same code*: one spider and the same settings of Scrapy; only the scheduler, the dupefilter and what these need differ.
*Natural*: a spider as docs/spiders.md teaches it, at our defaults but for the delay between requests to a host, against
one as Scrapy's tutorial teaches it, at Scrapy's defaults. On both sides items go to a feed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import celery_side
from benchmarks.figures import Figure, ratio
from benchmarks.lineup import OURS, PLAIN, SHARED, STOCK, TUTORIAL, two
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.bench import Bench
    from benchmarks.sides import Run, Side
    from benchmarks.site_server import SiteServer

#: By the number of workers.
ROUNDS, QUICK_ROUNDS = {1: 3, 2: 3}, 1
#: Of the natural crawls, whose difference is large.
NATURAL_ROUNDS = 2
#: Of peers that are so much slower that their spread says nothing.
OTHER_ROUNDS = 1
SAME_BUDGET, NATURAL_BUDGET = "≥ 0.95", "≥ 2"


def run(bench: Bench) -> None:
    """Add the rows."""
    same_code(bench, "same code, 1 worker", 1)
    natural(bench)
    same_code(bench, "same code, 2 workers", 2)


def same_code(bench: Bench, what: str, workers: int) -> None:
    """Plain Scrapy, ours and scrapy-redis, with Redis beside them and 1 ms away."""
    small = bench.site(bench.small)
    plain, ours, stock = (side if workers == 1 else two(side) for side in (PLAIN, OURS, STOCK))
    sides = three(bench, plain, ours)
    stock_sides = {"scrapy-redis, Redis 1 ms away": lambda: bench.crawl(stock, 1.0, site=small)}
    if workers == 1:
        stock_sides = {"scrapy-redis": lambda: bench.crawl(stock, site=small), **stock_sides}
    budgets = {"ours": SAME_BUDGET, "ours, Redis 1 ms away": SAME_BUDGET}
    warm_up = three(bench, plain, ours, small)
    compare(bench, what, sides, budgets, stock_sides, warm_up=warm_up, rounds=ROUNDS[workers])


def three(bench: Bench, plain: Side, ours: Side, site: SiteServer | None = None) -> dict[str, Callable[[], Run]]:
    """Runs of plain Scrapy, and of ours at both distances; of the smaller site to warm up, where both are alike."""
    sides = {"plain Scrapy": lambda: bench.crawl(plain, site=site), "ours": lambda: bench.crawl(ours, site=site)}
    return sides if site else {**sides, "ours, Redis 1 ms away": lambda: bench.crawl(ours, 1.0)}


def natural(bench: Bench) -> None:
    """Ours against Scrapy's tutorial and a Celery crawler."""
    small = bench.site(bench.small)
    celery = {
        "Celery + requests": lambda: celery_side.crawl(bench, small),
        "Celery + requests, Redis 1 ms away": lambda: celery_side.crawl(bench, small, 1.0),
    }
    compare(
        bench,
        "natural, items to a feed, 1 worker",
        three(bench, TUTORIAL, SHARED),
        {"ours": NATURAL_BUDGET, "ours, Redis 1 ms away": NATURAL_BUDGET},
        celery,
        warm_up=three(bench, TUTORIAL, SHARED, small),
        rounds=NATURAL_ROUNDS,
    )


def compare(
    bench: Bench,
    what: str,
    sides: Mapping[str, Callable[[], Run]],
    budgets: Mapping[str, str],
    others: Mapping[str, Callable[[], Run]],
    *,
    warm_up: Mapping[str, Callable[[], Run]],
    rounds: int,
) -> None:
    """Add two rows for each side: its pages a second, and how many times plain Scrapy's that is.

    Args:
        bench: The bench.
        what: What is compared.
        sides: The sides that alternate; plain Scrapy among them.
        budgets: What the ratio has to be, for some of them.
        others: Slower peers, which crawl the smaller site once, afterwards.
        warm_up: Runs before them.
        rounds: Runs of each side, when there is time.
    """
    peer = "plain Scrapy"
    expected = bench.site().plan.expected(bench.site().port)
    small = bench.site(bench.small)
    runs = bench.alternate(sides, QUICK_ROUNDS if bench.quick else rounds, what, warm_up=warm_up)
    valid = bench.same_work(runs, expected, what)
    rates = {name: [run.rate for run in several] for name, several in runs.items()}
    base = Figure.of(rates[peer]).value
    for name, figures in rates.items():
        if name == peer:
            bench.add(Row.of(f"throughput: {what}: {name}", Figure.of(figures), "pages/s", valid=valid))
        else:
            add_rows(bench, f"{what}: {name}", figures, rates[peer], budgets.get(name), valid=valid)
    for name, run_once in others.items():
        found = bench.alternate({name: run_once}, OTHER_ROUNDS, what, warm_up={})
        figures = [run.rate for run in found[name]]
        valid_too = bench.same_work(found, small.plan.expected(small.port), f"{what}, {name}")
        add_rows(bench, f"{what}: {name}", figures, [base] * len(figures), None, valid=valid_too)


def add_rows(
    bench: Bench, what: str, rates: Sequence[float], plain: Sequence[float], budget: str | None, *, valid: bool
) -> None:
    """A row of pages a second, and one of how many times plain Scrapy's that is."""
    figure, base = Figure.of(rates), Figure.of(plain).value
    peer = "plain Scrapy"
    bench.add(Row.of(f"throughput: {what}", figure, "pages/s", peer=peer, peer_value=base, valid=valid))
    times = ratio(rates, plain)
    name = f"throughput: {what}, against plain Scrapy"
    bench.add(Row.of(name, times, "times", peer=peer, peer_value=1, budget=budget, valid=valid))
