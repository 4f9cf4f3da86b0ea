"""A crawler on Celery and requests, as tutorials write it: a task for each URL, a set of what was seen, retries.

Tutorials parse with Beautiful Soup; lxml, which is several times faster, is used here, so that what is compared is the
way of crawling and not the parser.
"""

from __future__ import annotations

import json
import os
import time
from urllib.parse import urljoin, urlsplit

import lxml.html
import redis
import requests
from celery import Celery

BROKER = os.environ.get("BENCH_BROKER", "redis://127.0.0.1:6379/0")
DOMAINS = frozenset(os.environ.get("BENCH_DOMAINS", "").split())
ITEMS = "lines.jsonl"

app = Celery("crawler", broker=BROKER)
app.conf.task_ignore_result = True
seen = redis.Redis.from_url(BROKER)


@app.task(autoretry_for=(requests.RequestException,), max_retries=3, retry_backoff=True)  # type: ignore[untyped-decorator]  # Celery ships no types
def crawl(url: str) -> None:
    """Fetch a page, keep its title, and make a task of each link that nobody has seen."""
    started = time.monotonic()
    response = requests.get(url, timeout=60)
    response.raise_for_status()
    document = lxml.html.fromstring(response.content)
    for link in document.iter("a"):
        target = urljoin(url, link.get("href"))
        if urlsplit(target).hostname in DOMAINS and seen.sadd("seen", target):
            crawl.delay(target)
    line = {"url": url, "title": document.findtext(".//title"), "started": started, "ended": time.monotonic()}
    with open(ITEMS, "a", encoding="utf-8") as file:  # noqa: PTH123 - as tutorials do
        file.write(json.dumps(line) + "\n")
