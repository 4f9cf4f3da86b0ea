"""A wrong setting ends in one line and exit code 2, wherever it was set."""

from __future__ import annotations

import pytest

IN_MEMORY = [
    "-s", "SCHEDULER=scrapy.core.scheduler.Scheduler",
    "-s", "DUPEFILTER_CLASS=scrapy.dupefilters.RFPDupeFilter",
    "-s", "ITEM_PROCESSOR=scrapy.pipelines.ItemPipelineManager",
    "-s", "ITEM_PIPELINES={}",
]  # fmt: skip
TYPO = "FRONTIER_LEASE_SECOND is no setting; did you mean FRONTIER_LEASE_SECONDS?"


def refused(done) -> str:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1].partition("error: ")[2]


@pytest.mark.parametrize("command", [["crawl", "plain"], ["list"]])
def test_a_typo_in_the_environment_is_refused(project, command):
    assert refused(project.run(*command, FRONTIER_LEASE_SECOND="9")) == TYPO


def test_a_typo_on_the_command_line_is_refused(project):
    assert refused(project.run("crawl", "plain", "-s", "FRONTIER_LEASE_SECOND=9")) == TYPO


def test_a_typo_in_custom_settings_is_refused(project):
    assert refused(project.run("crawl", "typo")) == TYPO


def test_a_typo_in_a_spider_file_is_refused(project):
    spider = project.directory / "single.py"
    spider.write_text(
        "import scrapy\n"
        "class Single(scrapy.Spider):\n"
        "    name = 'single'\n"
        "    custom_settings = {'FRONTIER_LEASE_SECOND': 3}\n"
    )
    assert refused(project.run("runspider", str(spider))) == TYPO


def test_a_malformed_spider_argument_is_refused_by_name(project):
    spider = project.directory / "single.py"
    spider.write_text(
        "from spiders_project.spider_bases import SharedSpider\nclass Single(SharedSpider):\n    name = 'single'\n"
    )
    done = project.run("runspider", str(spider), "-a", "max_pages=x")
    assert refused(done).startswith("spider argument max_pages='x' is refused: ")


def test_a_typo_in_settings_py_is_refused(project):
    project.set("from spiders_project.settings import *\nSPIDER_MODULES = ['toy.spiders']\nFRONTIER_LEASE_SECOND = 9\n")
    assert refused(project.run("crawl", "plain")) == TYPO


def test_a_malformed_value_in_the_environment_is_refused_by_name(project):
    done = project.run("crawl", "plain", DOWNLOAD_DELAY="soon")
    assert refused(done) == "DOWNLOAD_DELAY is 'soon' in the environment: it should be a number"


def test_a_script_that_runs_a_crawl_is_refused_too(project):
    script = """
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
process = AsyncCrawlerProcess(get_project_settings())
process.crawl("typo")
process.start()
raise SystemExit(process.bootstrap_failed)
"""
    done = project.python("-c", script)
    assert done.returncode == 1
    assert TYPO in done.stderr


def test_a_job_of_scrapyd_is_refused_too(project):
    """This program is what a node starts."""
    done = project.python("-W", "ignore", "-m", "scrapyd.runner", "crawl", "typo", SCRAPY_PROJECT="default")
    assert refused(done) == TYPO


def test_no_password_reaches_the_log_of_a_crawl(project, site):
    done = project.run(
        "crawl", "plain", "-a", f"start_urls={site.url}", "-L", "DEBUG", *IN_MEMORY,
        "-s", "REDIS_URL=redis://:hunter2@127.0.0.1:2/0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Overridden settings" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["REDIS_URL", "MONGO_URI"])
def test_scrapy_settings_masks_passwords(project, name):
    done = project.run("settings", "--get", name)
    assert done.returncode == 0
    assert "hunter2" not in done.stdout
    assert ":***@127.0.0.1:1" in done.stdout


def test_a_scheduler_that_cannot_be_imported_is_refused(project):
    done = project.run("crawl", "plain", "-s", "SCHEDULER=nope.Foo")
    assert refused(done) == "SCHEDULER is 'nope.Foo', which cannot be imported: No module named 'nope'"


def test_a_spider_without_our_middlewares_is_refused(project):
    spider = project.directory / "single.py"
    spider.write_text(
        "import scrapy\n"
        "class Single(scrapy.Spider):\n"
        "    name = 'single'\n"
        "    custom_settings = {'SPIDER_MIDDLEWARES': {'my.Middleware': 543}}\n"
    )
    assert "cannot be imported: No module named 'my'" in refused(project.run("runspider", str(spider)))
    spider.write_text(spider.read_text().replace("my.Middleware", "collections.OrderedDict"))
    assert refused(project.run("runspider", str(spider))).startswith("SPIDER_MIDDLEWARES lacks spiders_project.")


def test_a_spider_whose_name_is_no_namespace_is_refused(project):
    spider = project.directory / "single.py"
    spider.write_text("import scrapy\nclass Single(scrapy.Spider):\n    name = 'site:host'\n")
    assert "'site:host' cannot be the namespace of a crawl" in refused(project.run("runspider", str(spider)))
    spider.write_text(spider.read_text().replace("site:host", "a b"))
    assert "set FRONTIER_NAMESPACE" in refused(project.run("runspider", str(spider)))


def test_an_operator_who_names_no_namespace_is_told(project):
    assert "'site:*' cannot be the namespace of a crawl" in refused(project.run("frontier", "status", "site:*"))
