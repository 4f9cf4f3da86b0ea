"""Pages and items a second with storage and without, at 1 and at 100 items a page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pymongo import MongoClient

from benchmarks.figures import Figure, ratio
from benchmarks.lineup import PLAIN, SHARED, TUTORIAL
from benchmarks.results import Row
from benchmarks.sides import Side
from benchmarks.site import ROWS, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.bench import Bench
    from benchmarks.sides import Run
    from benchmarks.site_server import SiteServer

DATABASE = "benchmark"
ROUNDS, QUICK_ROUNDS = 3, 1
LISTS, QUICK_LISTS = 200, 40
BUDGET = "≤ 0.05"
NONE = "without storage"

#: The pipeline of Scrapy's documentation.
INSERT = "an insert for each item"
#: Plain Scrapy at its defaults, with a natural spider: the whole of what people use, against the whole of ours.
TUTORIAL_INSERT = f"plain Scrapy with {INSERT}"

ON_PLAIN = {
    NONE: replace(PLAIN, feed=False, until_closed=True),
    "ours": replace(PLAIN, settings="store_ours", feed=False, until_closed=True),
    INSERT: replace(PLAIN, settings="store_insert", feed=False, until_closed=True),
}
ON_OURS = {
    NONE: replace(SHARED, feed=False),
    "ours": replace(SHARED, settings="ours_store", feed=False),
    TUTORIAL_INSERT: replace(TUTORIAL, settings="plain_insert", feed=False),
}
#: Spiders of pages with a hundred items, and how they come by them.
LISTED = {"rows": "parsed from HTML", "bare": "made without parsing"}


def run(bench: Bench) -> None:
    """Add the rows."""
    site = bench.site(bench.small)
    cost(bench, site, ON_PLAIN, "1 item a page, Scrapy's scheduler")
    cost(bench, site, ON_OURS, "1 item a page, our defaults")
    lists = bench.site(Plan(pages=2, hosts=2, lists=QUICK_LISTS if bench.quick else LISTS))
    for spider, how in LISTED.items():
        many(bench, lists, spider, f"{ROWS} items a page, {how}")


def cost(bench: Bench, site: SiteServer, sides: dict[str, Side], what: str) -> None:
    """Rows of the share of pages a second that each storage takes."""
    runs = bench.alternate(
        {name: partial(stored, bench, side, site) for name, side in sides.items()},
        QUICK_ROUNDS if bench.quick else ROUNDS,
        f"storage, {what}",
        warm_up={name: partial(stored, bench, side, bench.site(bench.tiny)) for name, side in sides.items()},
    )
    valid = bench.same_work(runs, site.plan.expected(site.port), f"storage, {what}")
    base = [run.rate for run in runs[NONE]]
    bench.add(Row.of(f"storage: {what}: {NONE}", Figure.of(base), "pages/s", valid=valid))
    shares = {name: share([run.rate for run in runs[name]], base) for name in sides if name in {"ours", INSERT}}
    for name, found in shares.items():
        rates = Figure.of([run.rate for run in runs[name]])
        row = f"storage: {what}: {name}"
        bench.add(Row.of(row, rates, "pages/s", peer=NONE, peer_value=Figure.of(base).value, valid=valid))
        budget = BUDGET if name == "ours" else None
        bench.add(Row.of(f"{row}, share of pages/s that it costs", found, "", budget=budget, valid=valid))
        add_cpu(bench, row, runs[name], runs[NONE])
    if TUTORIAL_INSERT in runs:
        ours, theirs = ([run.rate for run in runs[name]] for name in ("ours", TUTORIAL_INSERT))
        row, value = f"storage: {what}: ours, items to MongoDB", Figure.of(theirs).value
        bench.add(Row.of(row, Figure.of(ours), "pages/s", peer=TUTORIAL_INSERT, peer_value=value, valid=valid))
        times = ratio(ours, theirs)
        row += ", against plain Scrapy with MongoDB"
        bench.add(Row.of(row, times, "times", peer=TUTORIAL_INSERT, peer_value=1, valid=valid))


def share(with_it: Sequence[float], without: Sequence[float]) -> Figure:
    """The share of the speed that is lost."""
    times = ratio(with_it, without)
    return Figure(1 - times.value, 1 - times.most, 1 - times.least)


def add_cpu(bench: Bench, row: str, runs: Sequence[Run], bare: Sequence[Run]) -> None:
    """A row of the worker's CPU time, which hardly notices what else the machine does."""
    times = [[run.cpu / run.pages * 1000 for run in several] for several in (runs, bare)]
    bench.add(
        Row.of(
            f"{row}, CPU of the worker a page",
            Figure.of(times[0]),
            "ms",
            peer=NONE,
            peer_value=Figure.of(times[1]).value,
        )
    )


def many(bench: Bench, site: SiteServer, spider: str, what: str) -> None:
    """A row of items a second under Scrapy's scheduler."""
    bare = Side("plain Scrapy", spider, "same_plain", feed=False, until_closed=True)
    sides = {NONE: bare, "ours": replace(bare, settings="store_ours")}
    pages = [f"http://127.0.0.1:{site.port}/l/{n}" for n in range(site.plan.lists)]
    runs = bench.alternate(
        {name: partial(stored, bench, side, site, pages) for name, side in sides.items()},
        QUICK_ROUNDS if bench.quick else ROUNDS,
        f"storage, {what}",
    )
    valid = bench.same_work(runs, set(pages), f"storage, {what}")
    rates = {name: [one.items / one.seconds for one in several] for name, several in runs.items()}
    bench.add(
        Row.of(
            f"storage: {what}: ours",
            Figure.of(rates["ours"]),
            "items/s",
            peer=NONE,
            peer_value=Figure.of(rates[NONE]).value,
            valid=valid,
        )
    )


def stored(bench: Bench, side: Side, site: SiteServer, pages: list[str] | None = None) -> Run:
    """One crawl; MongoDB holds afterwards what it scraped."""
    uri = bench.mongo.url
    client: MongoClient[dict[str, Any]]
    with MongoClient(uri) as client:
        client.drop_database(DATABASE)
        variables = {"MONGO_URI": uri, "MONGO_DATABASE": DATABASE, "BENCH_ROWS": "1" if pages else ""}
        if pages:
            variables["BENCH_SEEDS"] = " ".join(pages)
        run = bench.crawl(side, site=site, variables=variables)
        if "store" in side.settings or "insert" in side.settings:
            count = client[DATABASE]["items"].count_documents({})
            if count != run.items:
                bench.note(f"storage, {side.settings}: {count} documents are stored of {run.items} items")
    return run
