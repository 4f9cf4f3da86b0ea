"""``purge``, ``export`` and ``import``."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.utils.misc import build_from_crawler, load_object

from spiders_project.commands.frontier_verbs.verb import EXIT_DONE, EXIT_FAILED, Task, Verb, add_yes
from spiders_project.commands.text import tell
from spiders_project.frontier.dump import MARK_BYTES, Dump, writing
from spiders_project.frontier.export import export_crawl
from spiders_project.frontier.imports import import_crawl
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from spiders_project.frontier.dump import Counts


class Purge(Verb):
    """Forget a crawl."""

    help = "Delete a crawl: queue, seen set, dead letters, seeds and records. Asks back; refused while workers live."
    examples = ("site", "site --yes")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add_yes(parser)

    def run(self, task: Task) -> int:
        client, keys = task.crawl.client, task.crawl.keys
        status = crawl_status(client, keys.namespace, keys.start_urls_key)
        counts = (
            f"{status.seeds:,} seeds, {status.requests:,} requests, {status.dead:,} dead letters and the memory of "
            f"{status.seen:,} URLs seen will be deleted."
        )
        if not any(worker.alive for worker in status.workers) and not task.confirmed(f"{keys.namespace}: {counts}"):
            return EXIT_FAILED
        deleted = purge_crawl(client, keys.namespace, keys.start_urls_key)
        return task.answer(f"{keys.namespace} is forgotten: {deleted:,} keys deleted", deleted=deleted)


class _File(Verb):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a file; - or none: a pipe")


class Export(_File):
    """Write a crawl into a file."""

    help = "Write seeds, requests, dead letters and the seen set into a file (gzipped as .gz); workers may run."
    examples = ("site site.frontier.gz", "site > site.frontier")

    def run(self, task: Task) -> int:
        try:
            with _out(task.opts.file) as out:
                counts = export_crawl(task.crawl, out, lambda records: tell(f"{records:,} records written"))
        except OSError as error:
            tell(f"error: cannot write {task.opts.file}: {error.strerror}")
            return EXIT_FAILED
        if task.opts.file == "-":
            tell(_told(counts))
            return EXIT_DONE
        return task.answer(f"{task.opts.file}: {_told(counts)}", file=task.opts.file, written=counts)


class Import(_File):
    """Read a crawl from a file."""

    help = "Merge an exported crawl into this one, empty or not; what is known here is not queued again."
    examples = ("site site.frontier.gz", "site < site.frontier")

    def run(self, task: Task) -> int:
        try:
            with _spooled(task.opts.file) as path:
                dump = Dump(path)
                tell(f"{task.opts.file} holds of {dump.namespace}: {_told(dump.counts)}")
                counts = import_crawl(
                    task.crawl, dump, _fingerprint(task), lambda read: tell(f"{read:,} records and fingerprints read")
                )
        except OSError as error:
            raise UsageError(f"cannot read {task.opts.file}: {error.strerror}", print_help=False) from error
        return task.answer(f"new in {task.crawl.keys.namespace}: {_told(counts)}", new=counts, read=dump.counts)


def _told(counts: Counts) -> str:
    return (
        f"{counts.request:,} requests, {counts.seed:,} seeds, {counts.dead:,} dead letters, "
        f"{counts.rejected:,} rejected seeds, {counts.seen:,} URLs seen"
    )


@contextmanager
def _out(name: str) -> Iterator[BinaryIO]:
    if name != "-":
        with writing(Path(name)) as out:
            yield out
        return
    if sys.stdout.isatty():
        raise UsageError("an export is no text: name a FILE, or send it into a pipe", print_help=False)
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _spooled(name: str) -> Iterator[Path]:
    """The file, or standard input in a temporary one: an import reads it several times."""
    if name != "-":
        yield Path(name)
        return
    with tempfile.NamedTemporaryFile(suffix=".frontier") as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool)
        spool.flush()
        yield Path(spool.name)


def _fingerprint(task: Task) -> Callable[[Mapping[str, Any]], bytes]:
    """The fingerprints of this crawl's workers (REQUEST_FINGERPRINTER_CLASS), as long as the seen set keeps them."""
    crawler = Crawler(task.spidercls or Spider, task.settings)
    fingerprinter = build_from_crawler(load_object(task.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)
    own = {"callback", "errback", "_class"}

    def fingerprint(fields: Mapping[str, Any]) -> bytes:
        request = Request(**{name: value for name, value in fields.items() if name not in own})
        digest: bytes = fingerprinter.fingerprint(request)
        return digest[:MARK_BYTES]

    return fingerprint
