"""``scrapy settings``: shows a setting, a password masked."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING

from scrapy.commands import settings

from spiders_project.commands.base import Checked
from spiders_project.secrets import mask

if TYPE_CHECKING:
    import argparse


class Command(Checked, settings.Command):
    """Scrapy's, with passwords masked."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            super().run(args, opts)
        sys.stdout.write(mask(printed.getvalue()))
