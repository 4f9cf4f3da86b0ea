"""``scrapy view``: opens a page in the browser as Scrapy downloads it."""

from __future__ import annotations

from scrapy.commands import view

from spiders_project.commands.base import LookOnly


class Command(LookOnly, view.Command):
    """Scrapy's, away from the frontier."""
