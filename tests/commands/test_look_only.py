"""Tools that only look never touch the frontier, and need neither Redis nor MongoDB."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy_redis.queue import PriorityQueue
from scrapy_redis.spiders import RedisSpider

QUEUED = 50
PIPELINE = """
import sys

class Noted:
    def process_item(self, item):
        sys.stderr.write(f"noted {item['title']}\\n")
        return item
"""


def looks(url: str) -> dict[str, list[str]]:
    return {
        "shell": ["shell", "--nolog", "-c", "response.css('title::text').get()", url],
        "fetch": ["fetch", "--nolog", url],
        "parse": ["parse", "--nolog", "--spider", "plain", url],
        "check": ["check", "plain"],
        "list": ["list"],
    }


@pytest.mark.parametrize(
    ("tool", "expected"),
    [("shell", "hello"), ("fetch", "<title>hello</title>"), ("parse", "[{'title': 'hello'}]"), ("list", "plain")],
)
def test_a_tool_looks_with_redis_and_mongodb_away(project, site, tool, expected):
    done = project.run(*looks(site.url)[tool])
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert "Traceback" not in done.stderr


def test_the_projects_own_spiders_are_tried_with_redis_and_mongodb_away(project, site):
    project.set("from spiders_project.settings import *\nDOWNLOAD_DELAY = 0\n")
    done = project.run("parse", "--spider", "site", site.url)
    assert done.returncode == 0, done.stderr
    assert "'title': 'hello'" in done.stdout
    assert "ERROR" not in done.stderr


def test_contracts_are_checked_with_redis_and_mongodb_away(project, site):
    done = project.run(*looks(site.url)["check"])
    assert done.returncode == 0, done.stderr
    assert "OK" in done.stderr
    assert site.visits


def test_view_opens_the_page_with_redis_and_mongodb_away(project, site):
    done = project.run("view", site.url, BROWSER="echo opened %s")
    assert done.returncode == 0, done.stderr
    assert "opened file://" in done.stdout


def test_on_request_parse_runs_the_pipelines_that_do_not_store(project, site):
    (project.directory / "toy" / "pipelines.py").write_text(PIPELINE)
    project.set(
        """
        from spiders_project.settings import *

        SPIDER_MODULES = ["toy.spiders"]
        ITEM_PIPELINES = {"toy.pipelines.Noted": 1, "spiders_project.pipelines.mongo.MongoPipeline": 300}
        """
    )
    done = project.run("parse", "--nolog", "--spider", "plain", "--pipelines", site.url)
    assert done.returncode == 0
    assert done.stderr == "noted hello\n"


@pytest.fixture
def queued(project, site, redis_url, redis_client):
    """A queue of scrapy-redis, and a function that reads it."""
    project.set(
        f"""
        SPIDER_MODULES = ["toy.spiders"]
        SCHEDULER = "scrapy_redis.scheduler.Scheduler"
        DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
        REDIS_URL = "{redis_url}"
        COMMANDS_MODULE = "spiders_project.commands"
        """
    )
    queue = PriorityQueue(redis_client, RedisSpider(name="plain"), "%(spider)s:requests")
    for n in range(QUEUED):
        queue.push(Request(f"{site.url}{n}"))
    return lambda: redis_client.zcard("plain:requests")


@pytest.mark.parametrize(
    "commands",
    [pytest.param([], marks=pytest.mark.xfail(strict=True, raises=AssertionError)), ["spiders_project.commands"]],
    ids=["stock", "ours"],
)
def test_a_look_leaves_the_queue_of_a_crawl_alone(project, site, queued, commands):
    """F24; the stock command runs the shared scheduler, takes what is queued and deletes the rest at its end."""
    settings = project.directory / "toy" / "settings.py"
    settings.write_text(settings.read_text() + f"COMMANDS_MODULE = {commands and commands[0]!r}\n")
    assert queued() == QUEUED
    assert project.run("fetch", "--nolog", "--spider", "plain", site.url).returncode == 0
    assert queued() == QUEUED


@pytest.mark.parametrize("tool", ["shell", "parse"])
def test_the_other_tools_leave_it_alone_too(project, site, queued, tool):
    done = project.run(*looks(site.url)[tool], *(["--spider", "plain"] if tool == "shell" else []))
    assert "hello" in done.stdout
    assert queued() == QUEUED
    assert {path for path, _ in site.visits} <= {"/", "/robots.txt"}
