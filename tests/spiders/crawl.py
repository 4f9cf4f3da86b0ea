"""Whole crawls for the tests of spiders."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RUNNER = Path(__file__).with_name("runner.py")
ROOT = RUNNER.parents[2]
SETTINGS = {
    "BOT_NAME": "spiders_project",
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_MAXSIZE": 20 * 1024 * 1024 - 1,
    "DOWNLOAD_WARNSIZE": 0,
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass
class Crawl:
    items: list[dict]
    stats: dict
    log: str

    def urls(self) -> list[str]:
        return [item["url"] for item in self.items]


def crawl(spider, *seeds, settings=None, **arguments) -> Crawl:
    """Run ``spider`` over ``seeds`` (URLs, or dicts with url and meta) to its end."""
    done = _run(spider, seeds, settings or {}, arguments)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return Crawl([line["item"] for line in lines[:-1]], lines[-1]["stats"], done.stderr)


def refused(spider, *seeds, **arguments) -> str:
    """The log of a crawl that does not start."""
    done = _run(spider, seeds, {}, arguments)
    assert done.returncode != 0
    assert not done.stdout
    return done.stderr


def _run(spider, seeds, settings, arguments):
    order = {
        "spider": spider,
        "seeds": [seed if isinstance(seed, dict) else {"url": seed} for seed in seeds],
        "settings": {**SETTINGS, **settings},
        "arguments": arguments,
    }
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", RUNNER],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=280,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
