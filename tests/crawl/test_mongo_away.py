"""MongoDB away in the middle of a crawl: hosts are visited on, acks wait, nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pymongo import MongoClient

from deploy.local.mongo_server import MongoServer
from tests.crawl.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def own_mongo(server_directory: Path) -> Iterator[MongoServer]:
    """A MongoDB of the test's own, which may stand still."""
    server = MongoServer(server_directory / "mongo")
    server.start()
    try:
        yield server
    finally:
        if server.process:
            server.process.resume()
        server.stop()


def freeze(server: MongoServer) -> Callable[[], object]:
    process = server.process
    process.suspend()
    return process.resume


def kill(server: MongoServer) -> Callable[[], object]:
    server.process.kill()
    return server.start


@pytest.mark.parametrize("outage", [freeze, kill])
def test_a_host_with_one_slot_is_visited_on_while_its_items_wait(
    site, crawl, own_mongo: MongoServer, outage: Callable[[MongoServer], Callable[[], object]]
):
    """I5: the slot is free when the download ends, not at the ack, which waits for the disk."""
    tree = site(80, hosts=1, latency=0.02)
    settings: dict[str, Any] = {
        "ITEM_PIPELINES": {"spiders_project.pipelines.mongo.MongoPipeline": 300},
        "ITEM_KEYS": {"dict": ["url"]},
        "MONGO_URI": own_mongo.url,
        "MONGO_DATABASE": "away",
        "MONGO_FLUSH_SECONDS": 0.05,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }
    run = crawl(settings=settings)
    run.seed(tree.url(0))
    with MongoClient(own_mongo.url) as client:
        items = client["away"]["items"]
        run.start(1)
        wait_for(lambda: items.count_documents({}) >= 10, 30, run.describe)
        back = outage(own_mongo)
        before = len(tree.arrivals)
        wait_for(lambda: len(tree.arrivals) >= before + 30, 30, run.describe)
        assert run.leases >= 25, "what is not stored is not acked"
        back()
        run.finish()
        stored = [item["url"] for item in items.find({"fetch_count": 1})]
    assert sorted(stored) == sorted(tree.expected)
    assert tree.most_at_once(tree.hosts[0]) == 1
