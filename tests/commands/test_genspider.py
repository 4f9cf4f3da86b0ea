import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.sample_site import serve

ROOT = Path(__file__).parents[2]
SETTINGS = """
BOT_NAME = "spiders_project"
SPIDER_MODULES = ["own_spiders"]
NEWSPIDER_MODULE = "own_spiders"
COMMANDS_MODULE = "spiders_project.commands"
TELNETCONSOLE_ENABLED = False
"""
MAX_LINES = 15


@pytest.fixture
def scrapy(tmp_path):
    (tmp_path / "own_settings.py").write_text(SETTINGS)
    (tmp_path / "own_spiders").mkdir()
    (tmp_path / "own_spiders" / "__init__.py").touch()

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=tmp_path,
            env={**os.environ, "SCRAPY_SETTINGS_MODULE": "own_settings", "PYTHONPATH": f"{ROOT}:{tmp_path}"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )

    return run


def test_the_shared_template_makes_a_short_spider_that_crawls_its_domain(scrapy, tmp_path):
    with serve() as shop:
        scrapy("genspider", "-t", "shared", "my-shop", f"{shop.url}about")
        file = tmp_path / "own_spiders" / "my_shop.py"
        assert len(file.read_text().splitlines()) <= MAX_LINES
        # The scheduler puts start_urls; under Scrapy's own scheduler `parse` stands in for it.
        done = scrapy("parse", "--spider=my-shop", f"{shop.url}bad-links")
        assert "'title': 'Bad links'" in done.stdout, done.stderr
        assert "mailto" not in done.stdout


def test_what_the_template_makes_passes_the_linter(scrapy, tmp_path):
    scrapy("genspider", "-t", "shared", "shop", "example.org")
    file = tmp_path / "own_spiders" / "shop.py"
    for verb in (["check"], ["format", "--check"]):
        ruff = [
            sys.executable,
            "-m",
            "ruff",
            *verb,
            "--stdin-filename",
            "spiders_project/spiders/shop.py",
            "-",
        ]
        subprocess.run(ruff, input=file.read_bytes(), check=True, cwd=ROOT)


def test_scrapys_own_templates_stay(scrapy, tmp_path):
    listed = scrapy("genspider", "-l").stdout.split()
    assert {"shared", "basic", "crawl"} <= set(listed)
    scrapy("genspider", "-t", "basic", "plain", "example.org")
    assert "scrapy.Spider" in (tmp_path / "own_spiders" / "plain.py").read_text()
