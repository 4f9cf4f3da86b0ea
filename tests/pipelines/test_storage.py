"""What becomes of an item: its document, and the delivery that waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import ClassVar

import attrs
import pytest
import scrapy
from bson.datetime_ms import DatetimeMS
from pydantic import BaseModel

from spiders_project.delivery import Origin
from spiders_project.errors import StorageError
from spiders_project.pipelines.documents import REMEMBERED_REQUESTS, step_of


@dataclass
class Book:
    key_fields: ClassVar = ("isbn",)
    volatile_fields: ClassVar = ("shelf",)

    isbn: str
    title: str
    shelf: int = 0


def test_an_item_becomes_a_document_under_its_key(put, mongo_db, settled):
    put((Book("1", "Moby Dick"), settled.origin()))

    (book,) = mongo_db.books.find()
    assert book["isbn"] == "1"
    assert book["title"] == "Moby Dick"
    assert book["spider"] == "books"
    assert book["first_seen"] == book["last_seen"]
    assert book["first_seen"].tzinfo is not None
    assert book["fetch_count"] == 1


@attrs.define
class Attrs:
    isbn: str


class Model(BaseModel):
    isbn: str


class Classic(scrapy.Item):
    isbn = scrapy.Field()


@pytest.mark.parametrize("kind", [dict, Classic, Book, Attrs, Model])
def test_every_kind_of_item_is_stored(put, mongo_db, settled, kind):
    fields = {"isbn": "1", "title": "Moby Dick"} if kind is Book else {"isbn": "1"}
    put((kind(**fields), settled.origin()), item_keys=dict.fromkeys(("dict", "Classic", "Attrs"), ("isbn",)))

    (name,) = mongo_db.list_collection_names()
    assert mongo_db[name].find_one()["isbn"] == "1"


def test_a_key_of_several_fields_tells_items_apart_by_all_of_them(put, mongo_db, settled):
    books = [("A", 1), ("A", 2), ("B", 1), ("A", 1)]
    put(
        *(({"series": series, "volume": n}, settled.origin(f"{i}")) for i, (series, n) in enumerate(books)),
        item_keys={"dict": ("series", "volume")},
    )

    counts = {(one["series"], one["volume"]): one["fetch_count"] for one in mongo_db["items"].find()}
    assert counts == {("A", 1): 2, ("A", 2): 1, ("B", 1): 1}


def test_a_hundred_items_of_one_page_wait_for_one_bulk_and_not_for_a_hundred(opened, mongo_db, settled, stats):
    async def run():
        async with opened(flush_seconds=30) as storage:
            delivery = settled.delivery()
            for ordinal in range(100):
                await storage.put({"n": ordinal}, Origin(delivery, ordinal))
            assert stats["mongo/batches"] == 0

    asyncio.run(run())
    assert stats["mongo/batches"] == 1
    assert mongo_db["items"].count_documents({}) == 100


@pytest.mark.parametrize(("given", "expected"), [({}, "majority"), ({"write_concern": 1}, 1)])
def test_writes_ask_for_the_write_concern_and_the_journal(opened, given, expected):
    async def run():
        async with opened(**given) as storage:
            assert storage.collection("books").write_concern.document == {"w": expected, "j": True}

    asyncio.run(run())


@pytest.mark.parametrize("concern", [2, "no-such-tag"])
def test_a_write_concern_that_cannot_be_had_is_refused_at_start(opened, concern):
    async def run():
        async with opened(write_concern=concern):
            pass

    with pytest.raises(StorageError, match=f"MONGO_WRITE_CONCERN = {concern} cannot be had .* Set it to majority"):
        asyncio.run(asyncio.wait_for(run(), 10))


def test_the_ack_waits_for_the_acknowledged_write(opened, mongo_db, settled):
    async def run():
        async with opened(flush_seconds=30) as storage:
            origin = settled.origin()
            await storage.put(Book("1", "Moby Dick"), origin)
            origin.delivery.release()  # the callback and the pipelines have ended
            await asyncio.sleep(0.1)
            assert settled.ids == []
            assert mongo_db.books.count_documents({}) == 0
        assert settled.ids == ["request-1"]
        assert mongo_db.books.count_documents({}) == 1

    asyncio.run(run())


def test_an_item_waits_no_longer_than_the_flush_time(opened, settled):
    async def run():
        async with opened(flush_seconds=0.05) as storage:
            origin = settled.origin()
            await storage.put(Book("1", "Moby Dick"), origin)
            origin.delivery.release()
            while not settled.ids:  # noqa: ASYNC110 - the settling of a delivery is a plain call
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 10))


def test_a_second_request_counts_and_a_redelivery_does_not(put, mongo_db, settled):
    put((Book("1", "Moby Dick"), settled.origin("a")))
    first = mongo_db.books.find_one()
    put((Book("1", "Moby Dick"), settled.origin("a")))
    assert mongo_db.books.find_one()["fetch_count"] == 1
    put((Book("1", "Moby Dick"), settled.origin("b")))
    put((Book("1", "Moby Dick"), settled.origin("a")))

    (book,) = mongo_db.books.find()
    assert book["fetch_count"] == 2
    assert book["first_seen"] == first["first_seen"]
    assert book["last_seen"] > first["last_seen"]


def test_a_redelivery_does_not_count_after_hundreds_of_other_requests(put, mongo_db, settled):
    others = 500  # a worker dies, and before its requests come back the others store the same item so often
    put((Book("1", "Moby Dick"), settled.origin("late")))
    put(*((Book("1", "Moby Dick"), settled.origin(f"other {n}")) for n in range(others)), batch_size=50)
    put((Book("1", "Moby Dick"), settled.origin("late")))

    assert mongo_db.books.find_one()["fetch_count"] == 1 + others


def test_what_a_document_remembers_of_its_requests_is_bounded(put, mongo_db, settled):
    requests = REMEMBERED_REQUESTS + 200
    put(*((Book("1", "Moby Dick"), settled.origin(f"request {n}")) for n in range(requests)), buffer_items=requests)

    (book,) = mongo_db.books.find()
    assert book["fetch_count"] == requests
    assert book["request_ids"] == [f"request {n}" for n in range(requests - REMEMBERED_REQUESTS, requests)]


def test_an_unchanged_item_touches_only_when_it_was_seen(put, mongo_db, settled):
    put((Book("1", "Moby Dick", shelf=1), settled.origin("a")))
    first = mongo_db.books.find_one()
    put((Book("1", "Moby Dick", shelf=2), settled.origin("b")))

    second = mongo_db.books.find_one()
    changed = {name for name in second if second[name] != first[name]}
    assert changed == {"last_seen", "fetch_count", "request_ids", "revision"}


def test_another_order_of_fields_is_no_change(put, mongo_db, settled):
    keys = {"item_keys": {"dict": ("isbn",)}}
    put(({"isbn": "1", "by": [{"name": "a", "born": 1819}]}, settled.origin("a")), **keys)
    put(({"by": [{"born": 1819, "name": "a"}], "isbn": "1"}, settled.origin("b")), **keys)

    (book,) = mongo_db["items"].find()
    assert book["changed_at"] == book["first_seen"] < book["last_seen"]


@pytest.mark.parametrize("value", [1.0, "1", "01", None, [1], {"a": 1}, Decimal(1), True])
def test_another_value_is_a_change(put, mongo_db, settled, value):
    keys = {"item_keys": {"dict": ("isbn",)}}
    put(({"isbn": "1", "value": 1}, settled.origin("a")), **keys)
    put(({"isbn": "1", "value": value}, settled.origin("b")), **keys)

    (book,) = mongo_db["items"].find()
    assert book["changed_at"] > book["first_seen"]


def test_a_changed_item_replaces_its_fields(put, mongo_db, settled):
    put(({"isbn": "1", "title": "Moby Dick", "price": 3}, settled.origin("a")), item_keys={"dict": ("isbn",)})
    put(({"isbn": "1", "title": "The Whale"}, settled.origin("b")), item_keys={"dict": ("isbn",)})

    (book,) = mongo_db["items"].find()
    assert book["title"] == "The Whale"
    assert "price" not in book
    assert book["fetch_count"] == 2


def test_a_hundred_keyless_items_of_one_page_are_a_hundred_documents_also_after_a_redelivery(put, mongo_db, settled):
    for _ in range(2):
        delivery = settled.delivery()
        put(*(({"url": "https://example.com/"}, Origin(delivery, ordinal)) for ordinal in range(100)))

    assert mongo_db["items"].count_documents({"fetch_count": 1}) == 100
    assert mongo_db["items"].count_documents({}) == 100


def test_two_items_of_one_key_in_one_batch_are_one_document_with_the_later_content(put, mongo_db, settled):
    put(
        (Book("1", "Moby Dick"), settled.origin("a")),
        (Book("1", "The Whale"), settled.origin("b")),
        (Book("1", "Omoo"), settled.origin("b")),
    )

    (book,) = mongo_db.books.find()
    assert book["title"] == "Omoo"
    assert book["fetch_count"] == 2


def test_workers_that_write_the_same_documents_at_once_lose_nothing(opened, mongo_db, settled):
    async def worker(number):
        async with opened(batch_size=7) as storage:
            for book in range(50):
                title = f"title {book}" if book % 2 else f"title {book} of worker {number}"
                await storage.put(Book(str(book), title), settled.origin(f"{number}-{book}"))
                await asyncio.sleep(0)

    async def run():
        await asyncio.gather(*(worker(number) for number in range(8)))

    asyncio.run(run())
    assert mongo_db.books.count_documents({}) == 50
    assert {book["fetch_count"] for book in mongo_db.books.find()} == {8}


def test_an_item_is_never_changed_and_a_reused_dict_keeps_no_id(put, mongo_db, settled):
    item = {"isbn": "1"}
    put((item, settled.origin("a")), (item, settled.origin("b")))

    assert item == {"isbn": "1"}
    assert mongo_db["items"].count_documents({}) == 2


def test_what_became_of_each_item_is_counted(put, stats, settled):
    put(*((Book(str(n), "a title"), settled.origin(f"a{n}")) for n in range(5)))
    put(*((Book(str(n), "a title" if n < 3 else "another"), settled.origin(f"b{n}")) for n in range(7)))

    assert stats["mongo/inserted"] == 5 + 2
    assert stats["mongo/updated"] == 2
    assert stats["mongo/unchanged"] == 3
    assert stats["mongo/batches"] == 2


KEYS = {"item_keys": {"dict": ("isbn",)}}
ODD = (None, "odd", [1], {"$gt": 1}, float("nan"), -1)


@pytest.mark.parametrize("field", ["request_ids", "revision", "fetch_count", "last_seen", "first_seen", "content_hash"])
def test_a_document_that_somebody_else_has_damaged_is_made_whole(put, mongo_db, settled, field):
    put(*(({"isbn": str(n), "title": "a"}, settled.origin(f"a{n}")) for n in range(len(ODD) + 1)), **KEYS)
    for n, value in enumerate(ODD):
        mongo_db["items"].update_one({"isbn": str(n)}, {"$set": {field: value}})
    mongo_db["items"].update_one({"isbn": str(len(ODD))}, {"$unset": {field: ""}})
    put(*(({"isbn": str(n), "title": "a"}, settled.origin(f"b{n}")) for n in range(len(ODD) + 2)), **KEYS)

    stored = list(mongo_db["items"].find())
    assert len(stored) == len(ODD) + 2
    kinds = {frozenset((name, type(value)) for name, value in one.items()) for one in stored}
    assert len(kinds) == 1
    assert {one["request_ids"][-1][0] for one in stored} == {"b"}
    assert mongo_db["items_rejected"].count_documents({}) == 0


def test_a_document_at_which_the_storage_itself_fails_is_set_aside_alone(put, mongo_db, settled, monkeypatch):
    def fail_at_2(draft, stored):
        if b"second" in draft.raw:
            raise RuntimeError("a fault of ours")
        return step_of(draft, stored)

    monkeypatch.setattr("spiders_project.pipelines.writer.step_of", fail_at_2)
    put(*(({"isbn": n}, settled.origin(n)) for n in ("first", "second", "third")), **KEYS)

    assert {one["isbn"] for one in mongo_db["items"].find()} == {"first", "third"}
    (kept,) = mongo_db["items_rejected"].find()
    assert (kept["code"], kept["reason"]) == ("fault", "RuntimeError: a fault of ours")
    assert kept["item"] == {"isbn": "second"}


def test_a_later_scrape_stays_whichever_worker_stores_first(opened, mongo_db, settled):
    async def run():
        async with opened(flush_seconds=60, history=True, **KEYS) as slow, opened(history=True, **KEYS) as quick:
            await slow.put({"isbn": "1", "price": "old"}, settled.origin("a"))
            await asyncio.sleep(0.01)
            await quick.put({"isbn": "1", "price": "new"}, settled.origin("b"))
            await quick.drain()
            await slow.drain()

    asyncio.run(run())
    (book,) = mongo_db["items"].find()
    assert book["price"] == "new"
    assert book["fetch_count"] == 2
    assert book["changed_at"] == book["last_seen"]
    assert mongo_db["items_history"].count_documents({}) == 0


def test_a_redelivery_with_other_content_is_stored_and_is_no_change(put, mongo_db, settled, stats):
    put(({"isbn": "1", "price": 1}, settled.origin("a")), **KEYS)
    first = mongo_db["items"].find_one()
    put(({"isbn": "1", "price": 2}, settled.origin("a")), history=True, **KEYS)

    (book,) = mongo_db["items"].find()
    assert book["price"] == 2
    assert book["changed_at"] == first["changed_at"] < book["last_seen"]
    assert (stats["mongo/updated"], stats["mongo/unchanged"]) == (0, 1)
    assert mongo_db["items_history"].count_documents({}) == 0


def test_fields_named_like_ours_are_all_kept(put, mongo_db, settled):
    put(({"spider": 1, "spider_": 2, "spider__": 3, "_id": 4, "ends_": 5, "content_hash": 6}, settled.origin("a")))

    (book,) = mongo_db["items"].find()
    assert book["spider"] == "books"
    assert [book[name] for name in ("spider_", "spider__", "spider___", "_id_", "ends_", "content_hash_")] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]


def test_a_hash_of_the_items_own_may_be_its_key(put, mongo_db, settled):
    keys = {"item_keys": {"dict": ("content_hash",)}}
    put(
        ({"content_hash": "x", "n": 1}, settled.origin("a")),
        ({"content_hash": "y", "n": 1}, settled.origin("b")),
        **keys,
    )

    assert {book["content_hash"] for book in mongo_db["items"].find()} == {"x", "y"}


@pytest.mark.parametrize("newest_first", [True, False])
def test_of_two_versions_in_one_batch_the_one_that_was_scraped_last_wins(opened, mongo_db, settled, newest_first):
    now = datetime.now(timezone.utc)
    versions = [("new", now), ("old", now - timedelta(days=1))]

    async def run():
        async with opened(flush_seconds=1) as storage:
            for title, seen_at in versions if newest_first else reversed(versions):
                await storage.put(Book("1", title), settled.origin(title), seen_at=seen_at)

    asyncio.run(run())
    (book,) = mongo_db.books.find()
    assert (book["title"], book["fetch_count"], set(book["request_ids"])) == ("new", 2, {"new", "old"})


@pytest.mark.parametrize("history", [True, False])
def test_a_date_of_somebody_else_that_python_cannot_hold_stops_nobody(opened, mongo_db, settled, history):
    async def run():
        async with opened(history=history) as storage:
            await storage.put(Book("1", "Moby Dick"), settled.origin("a"))
            await storage.drain()
            beyond = DatetimeMS(9 * 10**15)
            mongo_db.books.update_one({}, {"$set": {"last_seen": beyond, "changed_at": beyond, "other": beyond}})
            await storage.put(Book("1", "Moby Dick"), settled.origin("b"))
            await asyncio.wait_for(storage.drain(), 20)

    asyncio.run(run())
    (book,) = mongo_db.books.find()
    assert book["fetch_count"] == 2
    assert book["first_seen"] <= book["changed_at"] == book["last_seen"]
