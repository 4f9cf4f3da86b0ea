"""Indexes are declared beside the item class, made at start, and never stop a crawl."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

import pytest
from pymongo import IndexModel

from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.storage import Storage


@dataclass
class Book:
    key_fields: ClassVar = ("isbn",)
    indexes: ClassVar = ("author", ("publisher", "-year"), IndexModel("title", unique=True, name="titles"))

    isbn: str
    title: str


@pytest.fixture
def start(mongo_uri, mongo_db, stats):
    """A worker that starts and ends once the indexes have been tried."""

    def start():
        async def run():
            options = StorageOptions(uri=mongo_uri, database=mongo_db.name)
            storage = Storage(options, "books", lambda name, n: stats.update({name: n}), [Book])
            await storage.open()
            await asyncio.gather(*storage.tasks)
            await storage.close()

        asyncio.run(run())

    return start


def test_declared_indexes_exist_after_every_start(start, mongo_db, stats):
    for _ in range(2):
        start()

    indexes = mongo_db.books.index_information()
    assert indexes["author_1"]["key"] == [("author", 1)]
    assert indexes["publisher_1_year_-1"]["key"] == [("publisher", 1), ("year", -1)]
    assert indexes["titles"]["unique"] is True
    assert stats["mongo/index_errors"] == 0


def test_a_conflicting_index_is_reported_and_the_others_are_made(start, mongo_db, stats, caplog):
    mongo_db.books.create_index("title", name="titles")
    start()

    assert stats["mongo/index_errors"] == 1
    assert "The index titles of books cannot be made" in caplog.text
    assert "dropIndex" in caplog.text
    assert "author_1" in mongo_db.books.index_information()


def test_what_a_unique_index_refuses_is_set_aside_alone(put, start, mongo_db, settled, stats):
    start()
    put(*((Book(str(n), f"title {n % 9}"), settled.origin(str(n))) for n in range(10)))

    assert mongo_db.books.count_documents({}) == 9
    (kept,) = mongo_db.books_rejected.find()
    assert kept["code"] == "mongo-11000"
    assert kept["item"] == {"isbn": "9", "title": "title 0"}
    assert stats["items/rejected/mongo-11000"] == 1


def test_a_crawl_that_ends_at_once_leaves_its_indexes_behind(opened, mongo_db, settled):
    async def run():
        async with opened(flush_seconds=0.01) as storage:
            await storage.put(Book("1", "Moby Dick"), settled.origin())

    asyncio.run(run())
    assert len(mongo_db.books.index_information()) == 4
