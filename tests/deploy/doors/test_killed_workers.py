"""Workers in Scrapyd's runner are killed in the middle of a crawl: MongoDB ends up as if nothing had happened."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import redis
from pymongo import MongoClient

from deploy.client import NodeClient
from spiders_project.frontier.inspect import crawl_status
from tests.crawl.site import Site
from tests.deploy.conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.targets import Node

pytestmark = pytest.mark.slow
SETTINGS = {
    "DOWNLOAD_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "4",
    "FRONTIER_LEASE_SECONDS": "4",
    "MAX_IDLE_TIME_BEFORE_CLOSE": "1",
    "ROBOTSTXT_OBEY": "false",
}
#: What differs between two crawls of the same pages.
OF_THE_CRAWL = {"first_seen", "last_seen", "changed_at", "request_ids", "revision"}


class Crawl:
    """One crawl by jobs on the nodes; its namespace is its database as well."""

    def __init__(self, namespace: str, nodes: tuple[Node, ...], frontier: redis.Redis, mongo: MongoClient[Any]) -> None:
        self.namespace = namespace
        self._nodes = nodes
        self._frontier = frontier
        self._db = mongo[namespace]

    def start(self, node: Node) -> None:
        """Schedule a worker."""
        settings = {**SETTINGS, "FRONTIER_NAMESPACE": self.namespace, "MONGO_DATABASE": self.namespace}
        NodeClient(node).schedule(node.project, "shelves", settings=settings, _version="v1")

    def seed(self, url: str) -> None:
        self._frontier.rpush(f"{self.namespace}:start_urls", url)

    @property
    def items(self) -> int:
        """How many documents of pages there are."""
        return self._db["items"].estimated_document_count()

    @property
    def finished(self) -> bool:
        return crawl_status(self._frontier, self.namespace).state == "finished" and not self.workers

    @property
    def workers(self) -> list[psutil.Process]:
        """The processes of its jobs."""
        return [process for process in psutil.process_iter() if self._is_worker(process)]

    def _is_worker(self, process: psutil.Process) -> bool:
        try:
            return f"FRONTIER_NAMESPACE={self.namespace}" in process.cmdline()
        except psutil.Error:
            return False

    def stored(self) -> dict[str, dict[str, Any]]:
        """All documents by collection and ``_id``, without what differs between two crawls of the same pages."""
        return {
            f"{name} {document['_id']}": {key: document[key] for key in document.keys() - OF_THE_CRAWL}
            for name in self._db.list_collection_names()
            for document in self._db[name].find()
        }

    def kill_and_replace(self, dice: random.Random) -> None:
        """Kill -9 one of the workers, as when its machine loses power; another one takes its place."""
        dice.choice(self.workers).kill()
        self.start(dice.choice(self._nodes))


@pytest.fixture
def crawls(released, stack) -> Iterator[tuple[Crawl, Crawl]]:
    """An undisturbed crawl, and one whose workers are killed."""
    with redis.Redis.from_url(stack.redis_url) as frontier, MongoClient(stack.mongo_uri) as mongo:
        crawls = tuple(Crawl(f"{released[0].project}-{name}", released, frontier, mongo) for name in ("calm", "killed"))
        yield crawls
        for crawl in crawls:
            for worker in crawl.workers:  # only if the test has failed
                worker.kill()
                eventually(lambda: not crawl.workers)  # noqa: B023 - called at once
            mongo.drop_database(crawl.namespace)


@pytest.mark.parametrize(
    ("workers", "pages", "kills"),
    [(1, 300, 1), pytest.param(2, 3000, 15, marks=[pytest.mark.soak, pytest.mark.timeout(600)])],
)
def test_what_is_stored_after_kills_equals_what_an_undisturbed_crawl_stores(crawls, released, workers, pages, kills):
    calm, killed = crawls
    dice = random.Random(pages)
    with Site(pages, hosts=3, latency=0.1).serving() as site:
        for crawl in crawls:
            crawl.seed(site.url(0))
            for node in released[:workers]:
                crawl.start(node)
        for kill in range(1, kills + 1):
            stored = pages * 5 * kill // (kills + 2)
            eventually(lambda: killed.items > stored, seconds=120, every=0.01)  # noqa: B023 - called at once
            killed.kill_and_replace(dice)
        for crawl in crawls:
            eventually(lambda: crawl.finished, seconds=300)  # noqa: B023 - called at once
        assert sum(site.fetched.values()) > 2 * pages, "requests were redelivered"

    stored = killed.stored()
    assert stored == calm.stored()
    counts = {document["name"]: document["fetch_count"] for document in stored.values() if "name" in document}
    assert counts.pop("everywhere") == pages
    assert sum(counts.values()) == pages
    assert sum("row" in document for document in stored.values()) == 5 * pages
