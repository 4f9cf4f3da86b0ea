"""``scrapy frontier``: look at a crawl and lend a hand, also while its workers run."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from spiders_project.commands.base import Checked, refuse_wrong
from spiders_project.commands.frontier_verbs import VERBS, Task
from spiders_project.commands.text import tell
from spiders_project.config import Options
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.connection import blocking_client, translated
from spiders_project.frontier.crawl import Crawl
from spiders_project.frontier.terms import terms_of
from spiders_project.keys import Keys
from spiders_project.redis_settings import start_urls_key, start_urls_kind
from spiders_project.secrets import mask

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import Settings

EXIT_FAILED = 1
EXIT_CANNOT_CONNECT = 4
EXIT_INTERRUPTED = 130


class Command(Checked, ScrapyCommand):
    """Exit codes: 0 done, 1 it failed or was not confirmed, 2 wrong use, 4 cannot connect, 130 interrupted."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "VERB [HOST] SPIDER [options]"

    def short_desc(self) -> str:
        return "Look at a crawl and lend a hand: status, hosts, dead letters, pauses, purge, export"

    def long_desc(self) -> str:
        return (
            "Look at a crawl and lend a hand, also while its workers run. SPIDER is a spider's name, or a namespace "
            "(FRONTIER_NAMESPACE) that a crawl lives in. `scrapy frontier VERB --help` has examples; "
            "docs/frontier.md has all of it."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, prog="scrapy frontier")
        for name, verb in VERBS.items():
            own = verbs.add_parser(
                name,
                help=verb.help,
                description=verb.help,
                epilog="examples:\n" + "\n".join(f"  scrapy frontier {name} {line}".rstrip() for line in verb.examples),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            verb.add_arguments(own)
            # Global options may stand before the verb or behind it.
            mine = len(own._actions)  # noqa: SLF001 - argparse has no public way
            super().add_options(own)
            for action in own._actions[mine:]:  # noqa: SLF001
                action.default = argparse.SUPPRESS

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args and getattr(opts, "file", "") == "-":
            opts.file = args.pop(0)  # argparse gives an optional argument up at the first option before it
        if args:
            raise UsageError(f"what is {args[0]!r}? `scrapy frontier {opts.verb} --help`", print_help=False)
        spidercls, settings, namespace = self._meant(opts)
        with closing(blocking_client(settings)) as client:
            key = getattr(spidercls, "redis_key", None)
            seeds_key = key % {"name": spidercls.name} if spidercls and key else start_urls_key(settings, namespace)
            options = Options.from_settings(settings)
            terms = terms_of(settings, options, spidercls, seeds_key=seeds_key, seeds_kind=start_urls_kind(settings))
            crawl = Crawl(client, Keys(namespace, seeds_key), terms)
            try:
                if spidercls is None:
                    _must_exist(crawl, namespace, self._spiders())
                self.exitcode = VERBS[opts.verb].run(Task(crawl, opts, spidercls, settings))
            except KeyboardInterrupt:
                self.exitcode = EXIT_INTERRUPTED
            except FrontierUnavailable as error:
                self._fail(EXIT_CANNOT_CONNECT, f"{error}; is REDIS_URL right, and does it run?")
            except FrontierError as error:
                self._fail(EXIT_FAILED, str(error))

    def _spiders(self) -> list[str]:
        assert self.settings is not None
        return sorted(get_spider_loader(self.settings).list())

    def _meant(self, opts: argparse.Namespace) -> tuple[type[Spider] | None, Settings, str]:
        """The spider, its settings and the crawl's namespace; no spider where only the namespace is named."""
        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        name = opts.spider
        if hasattr(opts, "host_name"):
            if name not in loader.list() and opts.host_name in loader.list():
                name, opts.host_name = opts.host_name, name  # people turn them round
            opts.host_name = (urlsplit(opts.host_name).hostname or "") if "://" in opts.host_name else opts.host_name
        settings = self.settings.copy()
        spidercls = loader.load(name) if name in loader.list() else None
        if spidercls is not None:
            spidercls.update_settings(settings)
        refuse_wrong(settings, name)
        return spidercls, settings, Options.from_settings(settings).frontier_namespace or name

    def _fail(self, code: int, text: str) -> None:
        tell(f"error: {mask(text)}")
        self.exitcode = code


def _must_exist(crawl: Crawl, namespace: str, spiders: list[str]) -> None:
    keys = crawl.keys
    with translated():
        found = crawl.client.exists(keys.run, keys.state, keys.requests, keys.dead, keys.seen, keys.start_urls)
    if not found:
        raise UsageError(
            f"no spider and no crawl is named {namespace!r}; spiders are {', '.join(spiders)}", print_help=False
        )
