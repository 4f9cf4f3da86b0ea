"""Whole crawls into a real MongoDB."""

from __future__ import annotations

import pytest

from tests.storage.crawls import SPIDER, Crawl, site


@pytest.fixture
def crawl(mongo_uri, mongo_db, tmp_path):
    def crawl(spider, **settings):
        return Crawl(tmp_path, spider, **{"MONGO_URI": mongo_uri, "MONGO_DATABASE": mongo_db.name} | settings)

    return crawl


def test_every_item_is_stored_once(crawl, mongo_db):
    with site() as url, crawl(SPIDER.format(site=url, pages=100)) as run:
        assert run.wait() == 0, run.log
        assert run.finish_reason == "finished", run.log
        assert run.stat("mongo/inserted") == 100

    assert {item["number"] for item in mongo_db["items"].find()} == set(range(100))
    assert mongo_db["items"].count_documents({}) == 100
