"""``scrapy parse``: shows what a spider makes of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import parse

from spiders_project.commands.base import LookOnly

if TYPE_CHECKING:
    import argparse

_STORAGE = "spiders_project.pipelines.mongo."


class Command(LookOnly, parse.Command):
    """Scrapy's, away from the frontier; ``--pipelines`` runs all but the one that stores."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        pipelines = self.settings.getdict("ITEM_PIPELINES")
        super().process_options(args, opts)
        if opts.pipelines:
            kept = {path: order for path, order in pipelines.items() if not str(path).startswith(_STORAGE)}
            self.settings.set("ITEM_PIPELINES", kept, priority="cmdline")
