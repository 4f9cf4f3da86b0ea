"""Rejected items are tried again."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone

import attrs
import pytest

from spiders_project.items import Page
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.replay import Replay, ReplayReport, rebuild
from spiders_project.pipelines.shape import class_path
from spiders_project.pipelines.validate import Validator

KEYS = {"item_keys": {"dict": ("isbn",)}}


@pytest.fixture
def retry(opened):
    """Reject an item, store others, then try it again."""

    def retry(item, *later, **options):
        async def run():
            async with opened(**options) as storage:
                await storage.reject(item, None, Rejection("invalid-type", "why"))
                await storage.drain()
                await asyncio.sleep(0.01)
                for one in later:
                    await storage.put(one, None)
                await storage.drain()
                kinds = {class_path(type(item)): type(item)}
                name = storage._shape(type(item)).rejected
                replay = Replay(storage, Validator({}, "books"), kinds, lambda _: None)
                return await replay.run(storage.collection(name), {})

        return asyncio.run(run())

    return retry


def test_a_document_that_was_seen_since_is_not_overwritten(retry, mongo_db):
    report = retry({"isbn": "1", "price": "old"}, {"isbn": "1", "price": "new"}, **KEYS)

    assert report == ReplayReport(stored=1)
    (book,) = mongo_db["items"].find()
    assert book["price"] == "new"
    assert book["changed_at"] == book["last_seen"]
    assert mongo_db["items_rejected"].count_documents({}) == 0


def test_a_document_that_was_not_seen_since_is_stored_as_changed_now(retry, mongo_db):
    before = datetime.now(timezone.utc)
    assert retry({"isbn": "1"}, {"isbn": "2"}, **KEYS) == ReplayReport(stored=1)

    changed = {book["isbn"]: book["changed_at"] for book in mongo_db["items"].find()}
    assert changed["1"] >= changed["2"] > before.replace(microsecond=0)


def test_an_item_with_fields_that_it_makes_itself_comes_back(retry, mongo_db):
    page = Page(
        url="https://example.com/",
        requested_url="https://example.com/",
        status=200,
        content_type="text/html",
        fetched_at=datetime.now(timezone.utc),
    )
    assert retry(page) == ReplayReport(stored=1)
    assert mongo_db.pages.find_one()["content_hash"] == page.content_hash


@attrs.define
class Private:
    _text: str
    made: int = attrs.field(init=False)


@attrs.define
class Strict:
    n: int = attrs.field(validator=attrs.validators.lt(3))


def test_attributes_that_are_private_or_no_arguments_come_back():
    item = rebuild({"_text": "a", "made": 3}, Private)

    assert (item._text, item.made) == ("a", 3)


@pytest.mark.parametrize(("fields", "kind"), [({"n": 4}, Strict), ({"x": 1}, Strict), ({}, Page)])
def test_fields_that_the_class_will_not_have_are_refused_again(fields, kind):
    with pytest.raises(Rejection):
        rebuild(fields, kind)


@pytest.mark.parametrize("query", [{}, {"code": "invalid-type"}])
def test_what_mongodb_refuses_this_time_is_reported_as_refused(opened, mongo_db, settled, query):
    mongo_db["items"].create_index("ean", unique=True)

    async def run():
        async with opened(**KEYS) as storage:
            await storage.put({"isbn": "1", "ean": 5}, settled.origin("a"))
            await storage.reject({"isbn": "2", "ean": 5}, settled.origin("b"), Rejection("invalid-type", "why"))
            await storage.drain()
            await asyncio.sleep(0.01)
            replay = Replay(storage, Validator({}, "books"), {class_path(dict): dict}, lambda _: None)
            return await replay.run(storage.collection("items_rejected"), query)

    assert asyncio.run(run()) == ReplayReport(refused=1)
    assert [one["code"] for one in mongo_db["items_rejected"].find()] == ["mongo-11000"]
