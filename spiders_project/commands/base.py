"""What this project's versions of Scrapy's commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from spiders_project.checks import check
from spiders_project.errors import ConfigError

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.commands import BaseRunSpiderCommand
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    _Command = BaseRunSpiderCommand
else:
    _Command = object  # Scrapy takes every subclass of ScrapyCommand in this package for a command


class Checked(_Command):
    """Refuses wrong settings in one line and exit code 2, where Scrapy would show a traceback."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        refuse_wrong(self.settings)


class Crawling(Checked):
    """Also checks the spider's ``custom_settings`` and arguments, known once the crawler is made."""

    _made: Crawler | None = None
    _arguments: dict[str, Any]

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        self._arguments = opts.spargs

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        self._made = crawler = super()._create_crawler(spidercls)
        refuse_wrong(crawler.settings, crawler.spidercls.name)
        self._refuse_wrong_arguments(crawler.spidercls)
        return crawler

    def _refuse_wrong_arguments(self, spidercls: type[Spider]) -> None:
        from spiders_project.spider_bases.arguments import parse_arguments  # noqa: PLC0415 - parsers that looking needs not
        from spiders_project.spider_bases.mixin import SharedMixin  # noqa: PLC0415 - the same

        if issubclass(spidercls, SharedMixin):
            try:
                parse_arguments(spidercls.arguments, self._arguments)
            except ConfigError as error:
                raise UsageError(str(error), print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        super().run(args, opts)  # type: ignore[safe-super]  # of the command that this is mixed into
        if self._made is not None and has_failed(self._made):
            self.exitcode = 1


class LookOnly(Checked):
    """Runs on Scrapy's in-memory scheduler: never touches the frontier, needs neither Redis nor MongoDB."""

    in_memory: ClassVar[dict[str, Any]] = {
        "SCHEDULER": "scrapy.core.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
        "DOWNLOADER": "scrapy.core.downloader.Downloader",
        "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
        "ITEM_PIPELINES": {},
    }

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        self.settings.setdict(self.in_memory, priority="cmdline")


def has_failed(crawler: Crawler) -> bool:
    """Whether the crawl closed with an error, as its finish reason tells; for example ``frontier_error``."""
    try:
        reason = crawler.stats.get_value("finish_reason")
    except (AttributeError, RuntimeError):  # it failed before it had stats, and Scrapy has said so
        return True
    return str(reason).endswith(("_error", "_failure"))


def refuse_wrong(settings: BaseSettings, spider: str | None = None) -> None:
    """Check ``settings``, and the name of the ``spider`` that has them.

    Raises:
        UsageError: One is wrong; Scrapy prints the text and exits with 2.
    """
    try:
        check(settings, spider=spider)
    except ConfigError as error:
        raise UsageError(str(error), print_help=False) from error
