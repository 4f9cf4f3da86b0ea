"""Whole crawls by two workers on two Scrapyd nodes: the stored set is exactly the expected one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import redis
from pymongo import MongoClient

from deploy.client import NodeClient
from deploy.sample_site import expected_entries, expected_products, serve
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl
from tests.deploy.conftest import eventually
from tests.python_doc import expected_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymongo.database import Database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
#: Of the jobs alone: the sites are the test's own.
SETTINGS = {"DOWNLOAD_DELAY": "0", "CONCURRENT_REQUESTS_PER_DOMAIN": "8", "MAX_IDLE_TIME_BEFORE_CLOSE": "2"}


@contextmanager
def crawled(stack, nodes, spider: str, *seeds: str) -> Iterator[Database]:
    """Crawl from ``seeds`` with a worker on each node; gives the database when the crawl has finished."""
    with redis.Redis.from_url(stack.redis_url) as client, MongoClient(stack.mongo_uri) as mongo:
        purge_crawl(client, spider)
        client.rpush(f"{spider}:start_urls", *seeds)
        mongo.drop_database(database := f"whole_{spider}")
        for node in nodes:
            settings = {**SETTINGS, "MONGO_DATABASE": database}
            NodeClient(node).schedule(node.project, spider, settings=settings, _version="v1")
        eventually(lambda: crawl_status(client, spider).state == "finished", seconds=180)
        for node in nodes:
            eventually(lambda: not NodeClient(node).list_jobs(node.project)["running"], seconds=30)  # noqa: B023 - called at once
        status = crawl_status(client, spider)
        assert (status.open, status.seeds, status.finish_reason) == (0, 0, "finished")
        if status.done > 50:  # fewer may be claimed in one call
            assert min(worker.counts["acked"] for worker in status.workers) > 0, "both nodes worked"
        yield mongo[database]
        mongo.drop_database(database)


def test_a_documentation_site_is_stored_exactly_as_its_links_reach(released_once, stack, python_doc):
    with crawled(stack, released_once, "site", *python_doc) as database:
        stored = [page["url"] for page in database["pages"].find({}, {"url": True})]
    assert len(stored) > 1000
    assert sorted(stored) == sorted(expected_pages(python_doc))


def test_the_catalogue_is_stored_product_by_product(released_once, stack):
    with serve() as site, crawled(stack, released_once, "catalogue", site.url) as database:
        stored = {product["sku"]: product for product in database["products"].find()}
    expected = expected_products()
    assert stored.keys() == expected.keys()
    for sku, product in expected.items():
        assert stored[sku]["name"] == product.name
        assert stored[sku]["price"].to_decimal() == product.price


def test_feeds_are_stored_entry_by_entry(released_once, stack):
    with (
        serve() as site,
        crawled(stack, released_once, "feed", f"{site.url}feed.rss", f"{site.url}feed.atom") as database,
    ):
        stored = sorted(entry["id"] for entry in database["feed_entries"].find())
        expected = sorted({entry.id for entry in expected_entries(site.url)})
    assert stored == expected
