"""``scrapy runspider``: runs a spider file on the shared frontier."""

from __future__ import annotations

from scrapy.commands import runspider

from spiders_project.commands.base import Crawling


class Command(Crawling, runspider.Command):
    """Scrapy's, with settings checked first."""
