"""``scrapy check``: runs the spiders' contracts."""

from __future__ import annotations

from scrapy.commands import check

from spiders_project.commands.base import LookOnly


class Command(LookOnly, check.Command):
    """Scrapy's, away from the frontier."""
