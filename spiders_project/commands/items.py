"""``scrapy items``: what a spider has stored, out of MongoDB; and what was rejected, in again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, ClassVar

from pymongo.errors import ConnectionFailure, PyMongoError
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from spiders_project.commands.base import Checked, refuse_wrong
from spiders_project.errors import StorageError
from spiders_project.pipelines import reading
from spiders_project.pipelines.client import blocking_database
from spiders_project.pipelines.failures import explain
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.replay import Replay, ReplayReport
from spiders_project.pipelines.shape import REJECTED, item_classes
from spiders_project.pipelines.storage import Storage
from spiders_project.pipelines.validate import Validator

if TYPE_CHECKING:
    import argparse

    from pymongo.database import Database
    from scrapy import Spider

EXIT_FAILED = 1
EXIT_CANNOT_CONNECT = 4
EXIT_INTERRUPTED = 130
#: Seconds between two lines of progress.
PROGRESS_SECONDS = 2.0
AGO = {"m": "minutes", "h": "hours", "d": "days"}


class Command(Checked, ScrapyCommand):
    """Exit codes: 0 done, 1 MongoDB or an item refused, 2 wrong use, 4 cannot connect."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_LEVEL": "ERROR"}

    def syntax(self) -> str:
        return "status|export|rejected|retry <spider> [options]"

    def short_desc(self) -> str:
        return "Show, export or retry the items of a spider in MongoDB"

    def long_desc(self) -> str:
        return (
            "status: documents and rejected items of each collection. export: the documents, one a line. "
            "rejected: the rejected items with their reasons, one a line. retry: validate and store the rejected "
            "items again; those that are stored leave <collection>_rejected. "
            "Examples: scrapy items export site --since 24h > new.jsonl; "
            "scrapy items retry catalogue --code invalid-type"
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--collection", metavar="NAME", help="only this collection")
        parser.add_argument(
            "--since",
            metavar="T",
            help="only what is new, changed or rejected since T, such as 24h, 7d or 2024-05-01T12:00 (UTC)",
        )
        parser.add_argument("--format", choices=["jsonl", "csv"], default="jsonl", help="export: default jsonl")
        parser.add_argument("--code", metavar="CODE", help="rejected, retry: only those with this code")
        parser.add_argument("--json", action="store_true", help="status, retry: print the report as JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        verbs = {"status": self._status, "export": self._export, "rejected": self._rejected, "retry": self._retry}
        if len(args) != 2 or args[0] not in verbs:  # noqa: PLR2004 - the verb and the spider
            raise UsageError(f"scrapy items {self.syntax()}", print_help=False)
        opts.since = parse_since(opts.since) if opts.since is not None else None
        spidercls = self._load(args[1])
        try:
            with blocking_database(self._options) as db:
                names = reading.collections_of(db, args[1])
                if not names:
                    sys.stderr.write(f"{args[1]} has stored nothing in the database {db.name!r}\n")
                if opts.collection is not None:
                    names = [_named(opts.collection, names, args[1])]
                self.exitcode = verbs[args[0]](db, spidercls, names, opts)
            sys.stdout.flush()
        except KeyboardInterrupt:
            self.exitcode = EXIT_INTERRUPTED
        except BrokenPipeError:
            # The reader (head, less) has seen enough; Python's own flush at exit must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (StorageError, PyMongoError) as error:
            away = isinstance(error, ConnectionFailure)
            text = str(error) if isinstance(error, StorageError) else explain(error)
            hint = "; is MONGO_URI right, and does MongoDB run?" if away else ""
            sys.stderr.write(f"error: {text}{hint}\n")
            self.exitcode = EXIT_CANNOT_CONNECT if away else EXIT_FAILED

    def _load(self, spider: str) -> type[Spider]:
        """The spider's class; its own settings become the command's."""
        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        if spider not in loader.list():
            raise UsageError(f"no spider {spider!r}; there are {', '.join(sorted(loader.list()))}", print_help=False)
        spidercls = loader.load(spider)
        spidercls.update_settings(self.settings)
        refuse_wrong(self.settings)
        self._options = StorageOptions.from_settings(self.settings)
        return spidercls

    def _status(
        self, db: Database[dict[str, Any]], spider: type[Spider], names: list[str], opts: argparse.Namespace
    ) -> int:
        rows = [reading.status(db, spider.name, name, opts.since) for name in names]
        if opts.json:
            sys.stdout.write(json.dumps(reading.plain(rows)) + "\n")
            return 0
        for row in rows:
            rejected = sum(row["rejected"].values())
            sys.stdout.write(
                f"{row['collection']}: {row['documents']:,} documents, first seen {_time(row['first_seen'])},"
                f" last seen {_time(row['last_seen'])}, last changed {_time(row['changed_at'])};"
                f" {rejected:,} rejected\n"
            )
            for code, number in sorted(row["rejected"].items()):
                sys.stdout.write(f"  rejected, {code}: {number:,}\n")
        return 0

    def _export(
        self, db: Database[dict[str, Any]], spider: type[Spider], names: list[str], opts: argparse.Namespace
    ) -> int:
        if opts.format == "csv" and len(names) > 1:
            raise UsageError(f"csv has one table: name one with --collection ({', '.join(names)})", print_help=False)
        for name in names:
            total, found = reading.documents(db, spider.name, name, opts.since)
            progress = Progress(name, total)
            out: reading.JsonLines | reading.Csv = (
                reading.Csv(sys.stdout, reading.field_names(db, spider.name, name))
                if opts.format == "csv"
                else reading.JsonLines(sys.stdout)
            )
            for document in found:
                out.write(document)
                progress.step()
            progress.end()
            if isinstance(out, reading.Csv) and out.left_out:
                fields = ", ".join(sorted(out.left_out))
                sys.stderr.write(f"{name}: no column for {fields}, new since the export began; export again for them\n")
        return 0

    def _rejected(
        self, db: Database[dict[str, Any]], spider: type[Spider], names: list[str], opts: argparse.Namespace
    ) -> int:
        counts: Counter[str] = Counter()
        for name in names:
            for kept in db[name + REJECTED].find(_query(spider, opts)):
                sys.stdout.write(reading.as_json({"collection": name, **kept}) + "\n")
                counts[kept["code"]] += 1
        for code, number in counts.most_common():
            sys.stderr.write(f"{number:,} {code}\n")
        return 0

    def _retry(
        self, _db: Database[dict[str, Any]], spider: type[Spider], names: list[str], opts: argparse.Namespace
    ) -> int:
        report = asyncio.run(self._replay(spider, names, _query(spider, opts)))
        if opts.json:
            sys.stdout.write(json.dumps(asdict(report)) + "\n")
        else:
            sys.stdout.write(
                f"{report.stored:,} stored, {report.refused:,} refused again,"
                f" {report.skipped:,} cannot be retried (kept as an excerpt, or of an unknown class)\n"
            )
        return EXIT_FAILED if report.refused or report.skipped else 0

    async def _replay(self, spider: type[Spider], names: list[str], query: dict[str, Any]) -> ReplayReport:
        storage = Storage(self._options, spider.name, lambda _name, _number: None)
        await storage.open()
        try:
            replay = Replay(
                storage, Validator(self._options.item_schemas, spider.name), item_classes(spider), _Retried()
            )
            total = ReplayReport()
            for name in names:
                one = await replay.run(storage.collection(name + REJECTED), query)
                total = ReplayReport(
                    total.stored + one.stored, total.refused + one.refused, total.skipped + one.skipped
                )
            return total
        finally:
            await storage.close()


class Progress:
    """Tells on stderr how far an export is, every few seconds and at the end."""

    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = total
        self._done = 0
        self._next = time.monotonic() + PROGRESS_SECONDS

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            sys.stderr.write(f"{self._name}: {self._done:,} of {self._total:,}\n")

    def end(self) -> None:
        """All are done."""
        sys.stderr.write(f"{self._name}: {self._done:,} documents\n")


class _Retried:
    def __init__(self) -> None:
        self._tried = 0

    def __call__(self, _report: ReplayReport) -> None:
        self._tried += 1
        if self._tried % 1000 == 0:
            sys.stderr.write(f"{self._tried:,} tried\n")


def _query(spider: type[Spider], opts: argparse.Namespace) -> dict[str, Any]:
    query: dict[str, Any] = {"spider": spider.name}
    if opts.code:
        query["code"] = opts.code
    if opts.since is not None:
        query["rejected_at"] = {"$gte": opts.since}
    return query


def _named(name: str, names: list[str], spider: str) -> str:
    if name not in names:
        there = ", ".join(names) or "none"
        raise UsageError(f"no collection {name!r} has items of {spider}; there are: {there}", print_help=False)
    return name


def _time(value: datetime | None) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S UTC") if value else "never"


def parse_since(text: str) -> datetime:
    """A time: so long ago (``90m``, ``24h``, ``7d``), or in ISO format (UTC unless it says otherwise).

    Raises:
        UsageError: It is neither.
    """
    try:
        if ago := re.fullmatch(r"(\d+)([mhd])", text, re.ASCII):
            return datetime.now(timezone.utc) - timedelta(**{AGO[ago[2]]: int(ago[1])})
        given = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return given.astimezone(timezone.utc) if given.tzinfo else given.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text}: no time that there was; use 24h, 7d, 2024-05-01 or 2024-05-01T12:00", print_help=False
        ) from None
