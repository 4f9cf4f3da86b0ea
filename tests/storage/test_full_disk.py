"""A disk that is really full under MongoDB: the crawl waits, says so, and goes on when there is room again."""

from __future__ import annotations

import subprocess

import pytest
from pymongo import MongoClient

from deploy.local.mongo_server import MongoServer
from tests.storage.crawls import SPIDER
from tests.storage.waiting import wait_for

PAGES = 400


@pytest.fixture
def small_disk(server_directory):
    """A file system of 512 MB: what a new mongod takes for its journal, and some more."""
    disk = server_directory / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512m,mode=0700", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this user may not mount a file system: {done.stderr.strip()}")
    yield disk
    # Lazily: a mongod that has just ended may still hold it for a moment.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def server(small_disk):
    server = MongoServer(small_disk / "mongo", roles=["root"])
    server.start()
    yield server
    server.stop()


def fill(disk):
    """Take all the room that is left; gives the file that holds it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return filler


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_full_disk_loses_nothing_and_counts_nothing_twice(crawl, numbers, small_disk, server):
    # Texts that do not compress, so that MongoDB needs room for them.
    spider = "import os\n" + SPIDER.format(site=numbers, pages=PAGES).replace(
        '"url": response.url', '"url": response.url, "noise": os.urandom(100_000).hex()'
    )
    settings = {"MONGO_URI": server.url, "DOWNLOAD_DELAY": 0.01, "MONGO_BUFFER_ITEMS": 50}
    with crawl(spider, MONGO_DATABASE="full", **settings) as run:
        with MongoClient(server.url) as client:
            wait_for(lambda: client["full"]["items"].count_documents({}) > 20, "the first items")
        filler = fill(small_disk)
        wait_for(lambda: "MongoDB cannot be" in run.log, "the line in the log", 120)
        assert run.process.poll() is None, run.log
        filler.unlink()
        if server.process is None:  # mongod itself ends when its journal cannot be written
            server.start()
        assert run.wait(120) == 0, run.log
        assert "MongoDB is back after" in run.log
        assert run.finish_reason == "finished", run.log
        with MongoClient(server.url) as client:
            items = client["full"]["items"]
            assert {item["number"] for item in items.find({}, ["number"])} == set(range(PAGES))
            assert items.count_documents({"fetch_count": 1}) == PAGES
