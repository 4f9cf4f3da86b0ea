"""``scrapy fetch``: shows a page as Scrapy downloads it."""

from __future__ import annotations

from scrapy.commands import fetch

from spiders_project.commands.base import LookOnly


class Command(LookOnly, fetch.Command):
    """Scrapy's, away from the frontier."""
