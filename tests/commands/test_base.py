"""Which of Scrapy's commands are this project's own."""

from __future__ import annotations

from scrapy.cmdline import _get_commands_from_module

from spiders_project.commands.base import Checked, Crawling, LookOnly

STOCK = _get_commands_from_module("scrapy.commands", inproject=True)
OURS = _get_commands_from_module("spiders_project.commands", inproject=True)


def test_no_command_of_scrapys_runs_a_crawl_unchecked():
    """A command that a new version of Scrapy brings would run on the shared frontier."""
    crawling = {name for name, command in STOCK.items() if command.requires_crawler_process}
    assert {name for name in crawling if not isinstance(OURS.get(name), Checked)} == set()


def test_only_two_commands_touch_the_frontier():
    assert {name for name, command in OURS.items() if isinstance(command, Crawling)} == {"crawl", "runspider"}
    looking = {"bench", "check", "fetch", "list", "parse", "shell", "view"}
    assert {name for name, command in OURS.items() if isinstance(command, LookOnly)} == looking


def test_ours_are_scrapys_with_little_added():
    for name in STOCK.keys() & OURS.keys():
        assert isinstance(OURS[name], type(STOCK[name]))
