"""Pages a second of one and two workers, with the same code and as people naturally write it.

*Same code*: one spider and the same settings of Scrapy; only the scheduler, the dupefilter and what these need differ.
*Natural*: a spider as docs/spiders.md teaches it, at our defaults but for the delay between requests to a host, against
one as Scrapy's tutorial teaches it, at Scrapy's defaults. On both sides items go to a feed.
"""

from __future__ import annotations

from functools import partial
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
ROUNDS, QUICK_ROUNDS = 2, 1
#: Of the natural crawls, which are of the smaller site.
NATURAL_ROUNDS = 3
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
    site, tiny = bench.site(), bench.site(bench.tiny)
    plain, ours, stock = (side if workers == 1 else two(side) for side in (PLAIN, OURS, STOCK))
    stock_sides = {"scrapy-redis, Redis 1 ms away": lambda: bench.crawl(stock, 1.0, site=tiny)}
    if workers == 1:
        stock_sides = {"scrapy-redis": lambda: bench.crawl(stock, site=tiny), **stock_sides}
    budgets = {"ours": SAME_BUDGET, "ours, Redis 1 ms away": SAME_BUDGET}
    compare(bench, what, (plain, ours), site, budgets=budgets, others=stock_sides, rounds=ROUNDS)


def natural(bench: Bench) -> None:
    """Ours against Scrapy's tutorial and a Celery crawler."""
    small, tiny = bench.site(bench.small), bench.site(bench.tiny)
    celery = {
        "Celery + requests": lambda: celery_side.crawl(bench, tiny),
        "Celery + requests, Redis 1 ms away": lambda: celery_side.crawl(bench, tiny, 1.0),
    }
    compare(
        bench,
        "natural, items to a feed, 1 worker",
        (TUTORIAL, SHARED),
        small,
        budgets={"ours": NATURAL_BUDGET, "ours, Redis 1 ms away": NATURAL_BUDGET},
        others=celery,
        rounds=NATURAL_ROUNDS,
    )


def compare(
    bench: Bench,
    what: str,
    sides: tuple[Side, Side],
    site: SiteServer,
    *,
    budgets: Mapping[str, str],
    others: Mapping[str, Callable[[], Run]],
    rounds: int,
) -> None:
    """Add two rows for each side: its pages a second, and how many times plain Scrapy's that is.

    Args:
        bench: The bench.
        what: What is compared.
        sides: Plain Scrapy and ours, which alternate.
        site: What they crawl.
        budgets: What the ratio has to be, for some of them.
        others: Slower peers, which crawl the smallest site once, afterwards.
        rounds: Runs of each side, when there is time.
    """
    peer = "plain Scrapy"
    tiny = bench.site(bench.tiny)
    near = {"plain Scrapy": sides[0], "ours": sides[1]}
    warm_up = {name: partial(bench.crawl, side, site=tiny) for name, side in near.items()}
    crawls = {name: partial(bench.crawl, side, site=site) for name, side in near.items()}
    crawls["ours, Redis 1 ms away"] = partial(bench.crawl, sides[1], 1.0, site=site)
    runs = bench.alternate(crawls, QUICK_ROUNDS if bench.quick else rounds, what, warm_up=warm_up)
    valid = bench.same_work(runs, site.plan.expected(site.port), what)
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
        valid_too = bench.same_work(found, tiny.plan.expected(tiny.port), f"{what}, {name}")
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
