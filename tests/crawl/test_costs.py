"""What a page costs, in counts: a guard that needs no quiet machine. The bench measures the times.

One worker at the project's defaults, but for delays, crawls pages with 20 links each. A bound catches a call, a task
or an object that every page or every link would get anew, and not a batch more on a busy machine.
"""

import pytest

from benchmarks.relay import relaying
from spiders_project.settings import CONCURRENT_ITEMS, ITEM_PIPELINES
from tests.crawl.counting import REQUESTS, TASKS
from tests.crawl.settings import EXTENSIONS

pytestmark = pytest.mark.slow

PAGES = 400
#: For each page. Counted when they were set: 0.20 calls, 14.3 tasks (eight of them CONCURRENT_ITEMS), 2.0 objects (one
#: queued, one claimed; none for the 19 links that are known), 0.02 bulk writes.
BOUNDS = {"Redis calls": 0.5, "tasks": 16, "Request objects": 3, "bulk writes": 0.1}
SETTINGS = {
    "CONCURRENT_ITEMS": CONCURRENT_ITEMS,
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "ITEM_PIPELINES": ITEM_PIPELINES,
    "EXTENSIONS": {**EXTENSIONS, "tests.crawl.counting.Counting": 0},
    "ITEM_KEYS": {"dict": ["url"]},
}


def written(mongo_client):
    """Write commands that the MongoDB has taken, each of one document or of many."""
    commands = mongo_client.admin.command("serverStatus")["metrics"]["commands"]
    return sum(commands.get(name, {}).get("total", 0) for name in ("insert", "update", "bulkWrite"))


def test_a_page_costs_few_calls_tasks_requests_and_writes(
    site, crawl, redis_url, mongo_uri, mongo_client, mongo_db, monkeypatch
):
    """And none for each stat (F22)."""
    tree = site(PAGES, fan=17, hosts=4)  # 3 more links go to the first pages
    monkeypatch.setenv("MONGO_URI", mongo_uri)
    monkeypatch.setenv("MONGO_DATABASE", mongo_db.name)
    with relaying(redis_url) as relay:
        run = crawl(spider="costs", redis_url=relay.url, admin_url=redis_url, settings=SETTINGS)
        run.seed(tree.url(0))
        writes = written(mongo_client)
        (worker,) = run.start()
        run.finish()
        calls = relay.counts().commands
    assert {page["url"] for page in mongo_db["items"].find()} == tree.expected
    costs = {
        "Redis calls": calls / PAGES,
        "tasks": worker.stats[TASKS] / PAGES,
        "Request objects": worker.stats[REQUESTS] / PAGES,
        "bulk writes": (written(mongo_client) - writes) / PAGES,
    }
    assert {what: cost for what, cost in costs.items() if cost > BOUNDS[what]} == {}, costs
    # The counters count: each page has one request at least, and a task to follow it.
    assert costs["Request objects"] >= 1
    assert costs["tasks"] >= 1
    assert costs["Redis calls"] * costs["bulk writes"] > 0
