"""`scrapy shell`, `parse`, `check` and `list` need no Redis: they run our spiders on Scrapy's scheduler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.sample_site import serve

ROOT = Path(__file__).parents[2]
SETTINGS = """
BOT_NAME = "spiders_project"
SPIDER_MODULES = ["spiders_project.spiders"]
SCHEDULER = "scrapy.core.scheduler.Scheduler"
REDIS_URL = "redis://127.0.0.1:1/0"
ROBOTSTXT_OBEY = True
TELNETCONSOLE_ENABLED = False
"""


@pytest.fixture(scope="module")
def shop():
    with serve() as site:
        yield site


@pytest.fixture
def scrapy(tmp_path):
    (tmp_path / "plain_settings.py").write_text(SETTINGS)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=tmp_path,
            env={
                **os.environ,
                "SCRAPY_SETTINGS_MODULE": "plain_settings",
                "PYTHONPATH": f"{ROOT}:{tmp_path}",
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )

    return run


def test_list_names_the_spiders(scrapy):
    assert scrapy("list").stdout.split() == ["catalogue", "feed", "site", "sitemap"]


def test_parse_runs_a_callback_of_the_catalogue(scrapy, shop):
    done = scrapy("parse", "--spider=catalogue", "--callback=parse_product", f"{shop.url}product/sk-0007", "--nolinks")
    assert "'sku': 'SK-0007'" in done.stdout, done.stderr


def test_parse_follows_the_links_of_a_page_with_site(scrapy, shop):
    done = scrapy("parse", "--spider=site", f"{shop.url}odd")
    assert f"<GET {shop.url}notes.txt>" in done.stdout, done.stderr
    assert "'title': 'Odd corners'" in done.stdout


def test_shell_and_check_start(scrapy, shop):
    shell = scrapy("shell", "--spider=site", f"{shop.url}about", "-c", "response.css('h1::text').get()")
    assert shell.stdout.strip() == "About"
    assert "Ran 0 contracts" in scrapy("check", "catalogue").stderr
