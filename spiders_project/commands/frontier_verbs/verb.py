"""What a verb is."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from spiders_project.commands.text import as_json, say, tell

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.settings import Settings

    from spiders_project.frontier.crawl import Crawl

EXIT_DONE, EXIT_FAILED = 0, 1


@dataclass(frozen=True)
class Task:
    """What a verb is asked to do: the crawl, the options, the spider (None for a bare namespace), its settings."""

    crawl: Crawl
    opts: argparse.Namespace
    spidercls: type[Spider] | None
    settings: Settings

    def answer(self, text: str, **values: object) -> int:
        """Print the outcome, as text or with ``--json`` as an object; returns the exit code."""
        say(as_json(values) if self.opts.json else text)
        return EXIT_DONE

    def confirmed(self, what: str) -> bool:
        """Ask on stderr whether ``what`` is to be done, unless ``--yes`` was given; the crawl's name says yes."""
        if self.opts.yes:
            return True
        name = self.crawl.keys.namespace
        sys.stderr.write(f"{what}\nType {name} to go on: ")
        sys.stderr.flush()
        if sys.stdin.readline().strip() == name:
            return True
        tell("nothing was done (--yes does without the question)")
        return False


class Verb(ABC):
    """One verb."""

    #: One sentence for ``--help``.
    help: ClassVar[str]
    #: What may stand behind the verb, one example a line.
    examples: ClassVar[tuple[str, ...]]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's own arguments."""
        parser.add_argument("spider", metavar="SPIDER", help="a spider's name, or a crawl's namespace")
        parser.add_argument("--json", action="store_true", help="print JSON")

    @abstractmethod
    def run(self, task: Task) -> int:
        """Do it; returns the exit code.

        Raises:
            FrontierUnavailable: Redis does not answer.
            FrontierError: Redis refuses, or the crawl's state forbids it.
        """


def add_yes(parser: argparse.ArgumentParser) -> None:
    """The option to do without the question."""
    parser.add_argument("--yes", action="store_true", help="do not ask back")
