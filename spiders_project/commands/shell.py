"""``scrapy shell``: tries selectors on a page."""

from __future__ import annotations

from typing import Any, ClassVar

from scrapy.commands import shell

from spiders_project.commands.base import LookOnly


class Command(LookOnly, shell.Command):
    """Scrapy's, away from the frontier; a page may be fetched again and again."""

    in_memory: ClassVar[dict[str, Any]] = {
        **LookOnly.in_memory,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    }
