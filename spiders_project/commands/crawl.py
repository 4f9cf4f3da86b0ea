"""``scrapy crawl``: runs a spider on the shared frontier."""

from __future__ import annotations

from scrapy.commands import crawl

from spiders_project.commands.base import Crawling


class Command(Crawling, crawl.Command):
    """Scrapy's, with settings checked first."""
