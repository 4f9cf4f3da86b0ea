"""``scrapy bench``: how fast Scrapy itself is on this machine."""

from __future__ import annotations

from scrapy.commands import bench

from spiders_project.commands.base import LookOnly


class Command(LookOnly, bench.Command):
    """Scrapy's, away from the frontier."""
