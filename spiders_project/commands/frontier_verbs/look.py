"""``status`` and ``hosts``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spiders_project.commands.frontier_verbs.verb import Task, Verb
from spiders_project.commands.text import clock, span, table
from spiders_project.frontier.hosts import busiest
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.progress import blockers
from spiders_project.frontier.run_records import ended_runs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from spiders_project.frontier.inspect import CrawlStatus
    from spiders_project.frontier.progress import Blocker
    from spiders_project.frontier.run_records import EndedRun

TOP = 20
RUNS = 10
LEFT = 10  # workers that have left are shown up to this number of lines


class Status(Verb):
    """One screen on a crawl."""

    help = "Show how a crawl stands: run, counts, workers, and what blocks progress."
    examples = ("site", "site --runs", "site --json")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--runs", nargs="?", type=int, const=RUNS, metavar="N", help=f"show the last N runs that ended ({RUNS})"
        )

    def run(self, task: Task) -> int:
        if task.opts.runs is not None:
            runs = ended_runs(task.crawl.client, task.crawl.keys, task.opts.runs)
            return task.answer(_runs(runs), runs=runs)
        keys = task.crawl.keys
        status = crawl_status(task.crawl.client, keys.namespace, keys.start_urls_key)
        found = blockers(task.crawl.client, keys, status)
        return task.answer("\n".join(_screen(status, found)), status=status, rate=round(status.rate, 3), blockers=found)


def _screen(status: CrawlStatus, found: list[Blocker]) -> Iterator[str]:
    if status.run_id:
        until = f", ended {clock(status.ended_at)}" if status.ended_at else ""
        reason = f" ({status.finish_reason})" if status.finish_reason else ""
        yield f"{status.namespace}: run {status.run_id} {status.state}{reason}"
        yield f"started {clock(status.started_at)}{until}, {span(status.seconds)}, {status.rate:.1f} requests/s"
    else:
        yield f"{status.namespace}: no run yet"
    yield ""
    counts = ("seeds", "rejected", "queued", "delayed", "leased", "dead", "done", "pages", "seen")
    yield table(counts, [[getattr(status, name) for name in counts]])
    present = [worker for worker in status.workers if worker.seen_at or worker.leased]
    shown = present + [worker for worker in status.workers if worker not in present][: max(0, LEFT - len(present))]
    if shown:
        yield ""
        yield table(
            ("worker", "job", "alive", "leased", "acked", "pages", "items", "errors", "last seen"),
            (
                (
                    worker.id,
                    worker.job or "-",
                    "yes" if worker.alive else "no",
                    worker.leased,
                    *(worker.counts.get(name, 0) for name in ("acked", "pages", "items", "errors")),
                    f"{span(max(0, status.at - worker.seen_at))} ago" if worker.seen_at else "left",
                )
                for worker in shown
            ),
        )
    if len(shown) < len(status.workers):
        yield f"and {len(status.workers) - len(shown)} that have left"
    if found:
        yield ""
        yield from (f"! {blocker.text}" for blocker in found)


def _runs(runs: list[EndedRun]) -> str:
    if not runs:
        return "no run has ended yet"
    return table(
        ("run", "reason", "started", "ended", "done", "pages", "errors", "left"),
        (
            (
                run.run_id,
                run.reason,
                clock(run.started_at),
                clock(run.ended_at),
                run.done,
                run.pages,
                run.errors,
                run.left,
            )
            for run in runs
        ),
    )


class Hosts(Verb):
    """The hosts with the most requests."""

    help = "Show the hosts of a crawl, the fullest queue first."
    examples = ("site", "site --top 100", "site --json")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--top", type=int, default=TOP, metavar="N", help=f"how many ({TOP})")

    def run(self, task: Task) -> int:
        found = busiest(task.crawl, task.opts.top)
        now = task.crawl.now()
        text = table(
            ("host", "queued", "downloading", "next visit"),
            (
                (
                    host.name,
                    host.queued,
                    host.downloading,
                    "paused" if host.paused else f"in {host.next_at - now:.1f} s" if host.next_at > now else "now",
                )
                for host in found
            ),
        )
        return task.answer(text if found else "no host has requests", hosts=found)
