"""What a worker says and does at start when MongoDB will not be used as MONGO_URI asks."""

from __future__ import annotations

import time

import pytest
from pymongo import MongoClient

from tests.storage.crawls import SPIDER

SECRET = "s3cret-pass"


@pytest.fixture
def refused(crawl, numbers):
    """Run a crawl that cannot begin, and give its log."""

    def refused(**settings):
        started = time.monotonic()
        with crawl(SPIDER.format(site=numbers, pages=5), LOG_LEVEL="DEBUG", **settings) as run:
            run.wait()
            assert time.monotonic() - started < 20
            assert run.finish_reason == "storage_error", run.log
            assert run.stat("item_scraped_count") == 0
            assert run.stat("downloader/request_count") == 0
            assert "Traceback" not in run.log
            assert SECRET not in run.log
            return run.log

    return refused


@pytest.fixture
def reader(mongo_client, mongo_db):
    """The name of a user who may only read."""
    mongo_client.admin.command("createUser", mongo_db.name, pwd=SECRET, roles=[{"role": "read", "db": mongo_db.name}])
    yield mongo_db.name
    mongo_client.admin.command("dropUser", mongo_db.name)


def with_user(uri, user, password):
    return f"mongodb://{user}:{password}@{uri.rsplit('@')[1]}"


def test_a_user_who_may_only_read_is_told_so(refused, mongo_uri, reader):
    log = refused(MONGO_URI=with_user(mongo_uri, reader, SECRET))

    assert f"may not write into the database '{reader}'" in log
    assert "grantRolesToUser" in log


def test_a_uri_without_user_is_told_so(refused, mongo_uri):
    log = refused(MONGO_URI=f"mongodb://{mongo_uri.rsplit('@')[1]}")

    assert "MongoDB asks for a user, and MONGO_URI names none" in log


def test_a_wrong_password_is_told_so(refused, mongo_uri):
    log = refused(MONGO_URI=with_user(mongo_uri, "crawler", SECRET))

    assert "MongoDB refuses the user or password of MONGO_URI" in log


@pytest.mark.parametrize(
    "uri",
    [
        f"mongodb://crawler:{SECRET}@",
        f"mongodb://crawler:{SECRET}@x@127.0.0.1/",
        f"mongodb://crawler:a:{SECRET}@127.0.0.1/",
        f"mongodb://127.0.0.1:{SECRET}/",
        "mongodb://127.0.0.1/?authMechanism=NONSENSE",
        f"mongodb://crawler:{SECRET}@127.0.0.1/?noSuchOption=1",
        "mongodb://127.0.0.1/?tls=true&tlsCAFile=/no/such/file",
    ],
)
def test_a_wrong_uri_is_told_so_without_its_password(refused, uri):
    assert "MONGO_URI is not usable" in refused(MONGO_URI=uri)


def test_a_write_concern_that_the_server_cannot_have_is_told_so(refused):
    assert "MONGO_WRITE_CONCERN = 2 cannot be had from this MongoDB" in refused(MONGO_WRITE_CONCERN="2")


def test_a_class_of_the_spiders_module_that_says_what_cannot_be_is_told_so(crawl):
    spider = """
import scrapy

class Book(scrapy.Item):
    collection = "a..b"

class Books(scrapy.Spider):
    name = "books"

    async def start(self):
        yield Book()
"""
    with crawl(spider) as run:
        run.wait()
        assert run.finish_reason == "storage_error", run.log
        assert "The crawl cannot begin: Book.collection = 'a..b': MongoDB takes no such name" in run.log


def test_another_reactor_than_asyncios_is_refused(refused):
    log = refused(TWISTED_REACTOR="twisted.internet.epollreactor.EPollReactor")

    assert "Items are stored through asyncio: set TWISTED_REACTOR" in log


def test_no_credentials_and_no_documents_are_logged_at_debug_level(crawl, numbers, mongo_uri):
    with (
        MongoClient(mongo_uri) as client,
        crawl(SPIDER.format(site=numbers, pages=5), LOG_LEVEL="DEBUG") as run,
    ):
        assert run.wait() == 0
        password = client.options.pool_options._credentials.password
        assert password not in run.log
        assert "pymongo" not in run.log
