"""``dead``, ``retry`` and ``forget``."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from spiders_project.commands.frontier_verbs.verb import EXIT_DONE, EXIT_FAILED, Task, Verb, add_yes
from spiders_project.commands.text import age, as_json, clock, say, shortened, table, tell
from spiders_project.frontier.dead_letters import DeadLetter, Wanted, forget, letters, retry
from spiders_project.frontier.rejected_seeds import RejectedSeed, forget_seeds, rejected_seeds, retry_seeds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

REASONS = ("callback", "item", "download", "status", "deliveries", "undecodable")
SHOWN = 20


class _Filtered(Verb):
    """A verb over dead letters, or with ``--seeds`` over rejected entries of start_urls."""

    limit: int | None = None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--host", help="only of this host")
        parser.add_argument("--reason", choices=REASONS, help="only those given up for this reason")
        parser.add_argument("--status", type=int, metavar="CODE", help="only those given up for this HTTP status")
        parser.add_argument("--older", metavar="AGE", help="only those older than AGE (90s, 10m, 2h, 7d)")
        parser.add_argument("--newer", metavar="AGE", help="only those younger than AGE")
        parser.add_argument("--limit", type=int, default=self.limit, metavar="N", help="at most N")
        parser.add_argument("--seeds", action="store_true", help="rejected seeds instead of dead letters")

    def run(self, task: Task) -> int:
        opts, now = task.opts, task.crawl.now()
        before = now - age(opts.older) if opts.older else None
        after = now - age(opts.newer) if opts.newer else None
        if opts.seeds:
            if opts.host or opts.reason or opts.status:
                raise UsageError("--host, --reason and --status are not for seeds", print_help=False)
            return self.on_seeds(task, rejected_seeds(task.crawl, before, after))
        return self.on_letters(task, Wanted(opts.host, opts.reason, opts.status, before, after))

    def on_seeds(self, task: Task, found: Iterator[RejectedSeed]) -> int:
        raise NotImplementedError

    def on_letters(self, task: Task, wanted: Wanted) -> int:
        raise NotImplementedError


class Dead(_Filtered):
    """List them."""

    help = "List dead letters (requests that were given up), the newest first."
    examples = (
        "site",
        "site --host example.org --newer 2h",
        "site --reason status --status 503 --json",
        "site --seeds",
    )
    limit = SHOWN

    def on_letters(self, task: Task, wanted: Wanted) -> int:
        counted = _Counted(letters(task.crawl, wanted))
        found: list[DeadLetter] = nlargest(task.opts.limit, counted, key=lambda letter: letter.at)
        rows = (
            (one.id, clock(one.at), one.reason, one.attempts, one.url or "?", shortened(one.error)) for one in found
        )
        return _list(task, counted.count, found, ("id", "given up", "reason", "tries", "url", "error"), rows)

    def on_seeds(self, task: Task, found: Iterator[RejectedSeed]) -> int:
        counted = _Counted(found)
        newest: list[RejectedSeed] = nlargest(task.opts.limit, counted, key=lambda seed: seed.at)
        rows = ((clock(one.at), shortened(one.entry), shortened(one.reason)) for one in newest)
        return _list(task, counted.count, newest, ("set aside", "entry", "reason"), rows)


class _Counted:
    """An iterator that knows how many it gave."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self.count = 0

    def __iter__(self) -> Iterator[Any]:
        for one in self._source:
            self.count += 1
            yield one


def _list(task: Task, count: int, found: list[Any], head: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> int:
    if task.opts.json:
        say(as_json({"count": count, "shown": found}))
    elif not found:
        say("none")
    else:
        say(table(head, rows))
    if count > len(found):
        tell(f"{len(found):,} of {count:,} (--limit N shows more)")
    return EXIT_DONE


class Retry(_Filtered):
    """Queue them again."""

    help = "Put dead letters back into the queue, with all their tries; a new run opens if none is open."
    examples = ("site", "site --reason status --status 503", "site --host example.org --older 1h", "site --seeds")

    def on_letters(self, task: Task, wanted: Wanted) -> int:
        done = retry(task.crawl, wanted, task.opts.limit)
        if done.unreadable:
            tell(f"error: {done.unreadable:,} cannot be read and stay (scrapy frontier dead --reason undecodable)")
        task.answer(f"{done.queued:,} queued again", queued=done.queued, unreadable=done.unreadable)
        return EXIT_FAILED if done.unreadable else EXIT_DONE

    def on_seeds(self, task: Task, found: Iterator[RejectedSeed]) -> int:
        count = retry_seeds(task.crawl, islice(found, task.opts.limit))
        return task.answer(f"{count:,} put back into {task.crawl.keys.start_urls}", queued=count)


class Forget(_Filtered):
    """Drop them."""

    help = "Drop dead letters for good; asks back."
    examples = ("site --older 7d", "site --host gone.example --yes", "site --seeds --yes")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add_yes(parser)

    def on_letters(self, task: Task, wanted: Wanted) -> int:
        count = sum(1 for _ in islice(letters(task.crawl, wanted), task.opts.limit))
        if count and not task.confirmed(f"{count:,} dead letters will be dropped."):
            return EXIT_FAILED
        dropped = forget(task.crawl, wanted, task.opts.limit) if count else 0
        return task.answer(f"{dropped:,} dropped", dropped=dropped)

    def on_seeds(self, task: Task, found: Iterator[RejectedSeed]) -> int:
        meant = list(islice(found, task.opts.limit))
        if meant and not task.confirmed(f"{len(meant):,} rejected seeds will be dropped."):
            return EXIT_FAILED
        dropped = forget_seeds(task.crawl, iter(meant))
        return task.answer(f"{dropped:,} dropped", dropped=dropped)
