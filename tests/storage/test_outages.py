"""MongoDB away in the middle of a crawl: nothing lost, nothing twice, and the crawl goes on by itself."""

from __future__ import annotations

import signal
import time

import pytest
from pymongo import MongoClient

from deploy.local.processes import free_port
from tests.storage.crawls import SPIDER
from tests.storage.waiting import wait_for

PAGES = 150


def stop(server):
    server.stop()
    return server.start


def kill(server):
    process = server.process
    process.kill()
    wait_for(lambda: server.process is None, "the end of mongod")
    return server.start


def freeze(server):
    process = server.process
    process.suspend()
    return process.resume


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.parametrize("outage", [stop, kill, freeze])
@pytest.mark.timeout(300)
def test_an_outage_loses_nothing_and_counts_nothing_twice(crawl, numbers, own_server, outage, seconds):
    spider = SPIDER.format(site=numbers, pages=PAGES)
    settings = {"MONGO_URI": own_server.url, "DOWNLOAD_DELAY": 0.01, "RANDOMIZE_DOWNLOAD_DELAY": False}
    with (
        MongoClient(own_server.url) as client,
        crawl(spider, MONGO_BUFFER_ITEMS=50, MONGO_DATABASE="outage", **settings) as run,
    ):
        items = client["outage"]["items"]
        wait_for(lambda: items.count_documents({}) > 20, "the first items")
        back = outage(own_server)
        time.sleep(seconds)
        assert run.process.poll() is None, run.log
        back()
        assert run.wait() == 0, run.log

        assert run.finish_reason == "finished", run.log
        assert {item["number"] for item in items.find()} == set(range(PAGES))
        assert items.count_documents({"fetch_count": 1}) == PAGES
        assert run.stat("mongo/buffer_full") > 0  # the crawl was held up by it
        if outage is not freeze:
            assert "MongoDB cannot be" in run.log
            assert "MongoDB is back after" in run.log


def test_a_crawl_waits_for_a_mongodb_that_comes_later(crawl, numbers, own_server):
    own_server.stop()
    with crawl(SPIDER.format(site=numbers, pages=10), MONGO_URI=own_server.url) as run:
        wait_for(lambda: "MongoDB cannot be reached" in run.log, "the line in the log", 60)
        own_server.start()
        assert run.wait() == 0, run.log
        assert run.stat("mongo/inserted") == 10, run.log


def test_a_worker_that_waits_for_mongodb_can_be_stopped(crawl, numbers):
    uri = f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=300"
    with crawl(SPIDER.format(site=numbers, pages=10), MONGO_URI=uri) as run:
        wait_for(lambda: "MongoDB cannot be reached" in run.log, "the line in the log", 60)
        run.process.send_signal(signal.SIGTERM)
        run.wait(20)
        assert run.finish_reason == "shutdown", run.log


def test_a_worker_that_closes_without_mongodb_says_what_it_did_not_store(crawl, numbers, own_server):
    spider = SPIDER.format(site=numbers, pages=20)
    uri = f"{own_server.url}&serverSelectionTimeoutMS=500"
    with crawl(spider, MONGO_URI=uri, MONGO_FLUSH_SECONDS=30, MONGO_CLOSE_SECONDS=2, DOWNLOAD_DELAY=0.05) as run:
        wait_for(lambda: "Crawled 0 pages" in run.log, "the start")
        own_server.stop()
        run.wait()
        assert "MongoDB did not come back within MONGO_CLOSE_SECONDS (2 s): 20 items were NOT stored" in run.log
