"""``pause`` and ``resume``."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from spiders_project.commands.frontier_verbs.verb import Task, Verb
from spiders_project.commands.text import age, span
from spiders_project.frontier.hosts import pause, resume

if TYPE_CHECKING:
    import argparse


class _OnHost(Verb):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host_name", metavar="HOST", help="a host as `scrapy frontier hosts` shows it, or a URL")
        super().add_arguments(parser)


class Pause(_OnHost):
    """Let nobody visit a host."""

    help = "Let no worker visit a host, until it is resumed or for a time; downloads under way end."
    examples = ("example.org site", "example.org site --for 10m")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--for", dest="duration", metavar="AGE", help="for how long (90s, 10m, 2h); else for good")

    def run(self, task: Task) -> int:
        opts = task.opts
        seconds = age(opts.duration) if opts.duration else inf
        found = pause(task.crawl, opts.host_name, seconds)
        until = "until it is resumed" if seconds == inf else f"for {span(seconds)}"
        return task.answer(
            f"{opts.host_name} is paused {until}; {found.queued:,} requests wait",
            host=opts.host_name,
            queued=found.queued,
            seconds=None if seconds == inf else seconds,
        )


class Resume(_OnHost):
    """Let workers visit a host again."""

    help = "Let workers visit a host again, also one that asked for a pause itself (429, 503, Retry-After)."
    examples = ("example.org site",)

    def run(self, task: Task) -> int:
        host = task.opts.host_name
        found = resume(task.crawl, host)
        text = f"{host} is visited again" if found.was_held else f"{host} was not paused"
        return task.answer(
            f"{text}; {found.queued:,} requests wait", host=host, queued=found.queued, was_paused=found.was_held
        )
