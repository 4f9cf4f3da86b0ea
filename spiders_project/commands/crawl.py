"""``scrapy crawl``: runs a spider on the shared frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from spiders_project.commands.base import Crawling
from spiders_project.jobs.record import job_id

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from spiders_project.jobs.last_word import LastWord


class Command(Crawling, crawl.Command):
    """Scrapy's, with settings checked first; a job leaves a record also when it fails before its spider is open."""

    _last_word: LastWord | None = None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        # Still as typed: what is refused below may be refused before Scrapy has made a dict of it.
        arguments = dict(pair.split("=", 1) for pair in opts.spargs if "=" in pair)
        job = job_id(arguments.get("_job", ""))
        if job:
            from spiders_project.jobs.last_word import LastWord  # noqa: PLC0415 - Redis, which looking needs not

            assert self.settings is not None
            spider = args[0] if args else ""
            self._last_word = LastWord(self.settings, job, spider, arguments.get("_version", ""))
        try:
            super().process_options(args, opts)
        except UsageError as error:
            self._refused(error)
            raise

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        if self._last_word is not None:
            self._last_word.settings = crawler.settings
            crawler.signals.connect(self._last_word.opened, signals.spider_opened)
            crawler.signals.connect(self._last_word.closed, signals.spider_closed)
        return crawler

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            super().run(args, opts)
        except UsageError as error:
            self._refused(error)
            raise

    def _refused(self, error: UsageError) -> None:
        if self._last_word is not None:
            self._last_word.refused(str(error))
