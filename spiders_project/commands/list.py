"""``scrapy list``: names the spiders."""

from __future__ import annotations

from scrapy.commands import list as scrapy_list

from spiders_project.commands.base import LookOnly


class Command(LookOnly, scrapy_list.Command):
    """Scrapy's, away from the frontier."""
