"""``scrapy seed``: checks seeds and pushes them to a spider's crawl."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from spiders_project.commands.base import Checked, refuse_wrong
from spiders_project.config import Options
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.connection import blocking_client, translated
from spiders_project.redis_settings import start_urls_key, start_urls_kind
from spiders_project.secrets import mask
from spiders_project.seeds.writer import push, read_entries

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from spiders_project.seeds.writer import PushReport

EXIT_FAILED = 1
EXIT_CANNOT_CONNECT = 4
EXIT_INTERRUPTED = 130
_PROGRESS_EVERY = 10_000  # seeds


class Command(Checked, ScrapyCommand):
    """Exit codes: 0 all pushed, 1 some were refused or Redis failed, 2 wrong use, 4 cannot connect."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] <spider> [URL or JSON object ...] [--file FILE | -]"

    def short_desc(self) -> str:
        return "Check seeds and push them to a spider's crawl"

    def long_desc(self) -> str:
        return (
            "Check seeds (URLs or JSON objects, see docs/seeds.md) and push the good ones to a spider's crawl. "
            "A file, or standard input (-), has one seed a line; blank lines and lines that begin with # "
            "are skipped. Example: scrapy seed site https://example.org/ --file more.txt"
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-f", "--file", metavar="FILE", help="read seeds from FILE, one a line")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        spider, *given = args or [""]
        spidercls, settings = self._load(spider)
        for unknown in (arg for arg in given if arg.startswith("-") and arg != "-"):
            raise UsageError(f"no such option: {unknown}", print_help=False)
        if not given and not opts.file:
            raise UsageError("no seeds: give URLs, --file FILE or -", print_help=False)
        namespace = Options.from_settings(settings).frontier_namespace or spider
        own_key: str | None = getattr(spidercls, "redis_key", None)
        key = own_key % {"name": spider} if own_key else start_urls_key(settings, namespace)
        try:
            report = self._push(settings, key, given, opts.file)
        except KeyboardInterrupt:
            self.exitcode = EXIT_INTERRUPTED
        except FrontierUnavailable as error:
            self._fail(EXIT_CANNOT_CONNECT, f"{error}; is REDIS_URL right, and does Redis run?")
        except FrontierError as error:
            self._fail(EXIT_FAILED, str(error))
        else:
            _show(report, key, as_json=opts.json)
            self.exitcode = EXIT_FAILED if report.refused_count else 0

    def _load(self, spider: str) -> tuple[type[Spider], BaseSettings]:
        """The spider's class, and the settings that its crawl has."""
        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        if spider not in loader.list():
            wrong = f"no spider {spider!r}" if spider else "name a spider"
            raise UsageError(f"{wrong}; there are {', '.join(sorted(loader.list()))}", print_help=False)
        settings = self.settings.copy()
        spidercls = loader.load(spider)
        spidercls.update_settings(settings)
        refuse_wrong(settings, spider)
        return spidercls, settings

    def _push(self, settings: BaseSettings, key: str, given: list[str], file: str | None) -> PushReport:
        with ExitStack() as stack:
            client = stack.enter_context(blocking_client(settings))
            stack.enter_context(translated())
            return push(
                client,
                key,
                _entries(given, file, stack),
                kind=start_urls_kind(settings),
                allowed_schemes=Options.from_settings(settings).frontier_allowed_schemes,
                on_progress=_Progress(),
            )

    def _fail(self, code: int, text: str) -> None:
        sys.stderr.write(f"error: {mask(text)}\n")
        self.exitcode = code


class _Progress:
    """Tells on stderr how many are pushed, every so often."""

    def __init__(self) -> None:
        self._next = _PROGRESS_EVERY

    def __call__(self, pushed: int) -> None:
        if pushed >= self._next:
            sys.stderr.write(f"{pushed:,} seeds pushed\n")
            self._next = pushed + _PROGRESS_EVERY


def _entries(given: list[str], file: str | None, stack: ExitStack) -> Iterator[str | bytes]:
    sources: list[Iterator[str | bytes]] = [
        read_entries(sys.stdin.buffer) if arg == "-" else iter([arg]) for arg in given
    ]
    if file:
        try:
            stream = stack.enter_context(Path(file).open("rb"))  # noqa: SIM115 - the stack closes it
            sources.append(read_entries(stream))
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror}", print_help=False) from error
    return chain.from_iterable(sources)


def _show(report: PushReport, key: str, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"key": key, **asdict(report)}, ensure_ascii=False) + "\n")
        return
    for refusal in report.refused:
        sys.stderr.write(f"refused, entry {refusal.line}: {refusal.reason}: {refusal.entry}\n")
    more = report.refused_count - len(report.refused)
    if more:
        sys.stderr.write(f"… and {more:,} more\n")
    refused = f", {report.refused_count:,} refused" if report.refused_count else ""
    sys.stdout.write(f"{report.pushed:,} seeds pushed to {key}{refused}\n")
