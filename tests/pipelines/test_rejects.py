"""What is kept of an item that cannot be stored."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta, timezone
from typing import ClassVar

import pytest
from pydantic import BaseModel

from spiders_project.items import Product
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.rejects import keepable
from spiders_project.pipelines.shape import class_path


def test_a_redelivered_item_is_rejected_once(opened, mongo_db, settled):
    async def run():
        for _ in range(2):
            async with opened() as storage:
                await storage.reject({"n": 1}, settled.origin("a"), Rejection("key", "why"))

    asyncio.run(run())
    assert mongo_db.items_rejected.count_documents({}) == 1


@pytest.mark.parametrize("from_a_request", [True, False])
def test_what_only_the_driver_cannot_encode_is_rejected_too(opened, mongo_db, settled, from_a_request):
    item = {"pattern": re.compile("a\0")}  # in BSON a pattern ends at NUL
    origin = settled.origin("a") if from_a_request else None

    async def run():
        async with opened() as storage:
            with pytest.raises(Rejection) as raised:
                await storage.put(item, origin)
            await storage.reject(item, origin, raised.value)
        return raised.value

    assert asyncio.run(run()).code == "unencodable"
    assert mongo_db.items_rejected.find_one()["item"] == {"pattern": repr(item["pattern"])}


class Broken:
    def __repr__(self):
        raise RuntimeError("no repr")


class BrokenItem(dict):
    def items(self):
        raise RuntimeError("no items")


EAST, WEST = (timezone(timedelta(hours=hours)) for hours in (5, -5))


@pytest.mark.parametrize(
    "item",
    [
        {"t": datetime(1, 1, 1, tzinfo=EAST)},
        {"t": datetime.max.replace(tzinfo=WEST)},
        {10**5000: 1},
        {"a": {"b": Broken()}},
        BrokenItem(a=1),
    ],
    ids=["before the calendar", "after the calendar", "endless key", "no repr", "no items"],
)
@pytest.mark.parametrize("from_a_request", [True, False])
def test_what_python_itself_cannot_turn_into_anything_is_rejected_too(opened, settled, item, from_a_request):
    origin = settled.origin("a") if from_a_request else None

    async def run():
        async with opened() as storage:
            with pytest.raises(Rejection) as raised:
                await storage.put(item, origin)
            await storage.reject(item, origin, raised.value)
            documents = [one async for one in storage.collection("items_rejected").find()]
            assert documents == []
            await storage.drain()
            names = await storage.collection("items_rejected").database.list_collection_names()
        return raised.value, names

    rejection, names = asyncio.run(run())
    assert rejection.code == "unencodable"
    assert [name.endswith("_rejected") for name in names] == [True]


def test_workers_that_reject_the_same_item_at_once_keep_it_once(opened, mongo_db, settled):
    async def worker():
        async with opened() as storage:
            for n in range(50):
                await storage.reject({"n": n}, settled.origin(str(n)), Rejection("key", "why"))

    async def run():
        await asyncio.gather(*(worker() for _ in range(6)))

    asyncio.run(run())
    assert mongo_db.items_rejected.count_documents({}) == 50


def test_rejected_items_that_mongodb_refuses_too_do_not_hold_up_the_crawl(opened, mongo_db, settled, caplog):
    mongo_db.create_collection("items_rejected", validator={"n": 1})
    origin = settled.origin("a")

    async def run():
        async with opened() as storage:
            await storage.reject({"n": 1}, origin, Rejection("key", "why"))
            origin.delivery.release()

    asyncio.run(run())
    assert settled.ids == ["a"]
    assert origin.delivery.error == "a rejected item could not be kept in items_rejected: Document failed validation"
    assert "1 rejected items could not be kept in items_rejected, their requests become dead letters" in caplog.text


def test_a_refused_item_that_cannot_be_kept_either_makes_its_request_alone_a_dead_letter(opened, mongo_db, settled):
    for name in ("items", "items_rejected"):
        mongo_db.create_collection(name, validator={"n": 1})
    origins = [settled.origin(str(n)) for n in range(3)]

    async def run():
        async with opened() as storage:
            for n, origin in enumerate(origins):
                await storage.put({"n": n}, origin)
                origin.delivery.release()

    asyncio.run(run())
    assert sorted(settled.ids) == ["0", "1", "2"]
    assert [origin.delivery.error is None for origin in origins] == [False, True, False]


@pytest.mark.parametrize(
    ("item", "kept", "whole"),
    [
        ({"a": (1, 2)}, {"a": [1, 2]}, True),
        ({"a": [print], "b": 1}, {"a": ["<built-in function print>"], "b": 1}, False),
        ({"a": "x" * 17_000_000, "\0": 1}, {"a": "x" * 200 + "… (17000000 characters)", "␀": 1}, False),
        (print, "<built-in function print>", False),
    ],
)
def test_what_mongodb_takes_is_kept_and_the_rest_is_an_excerpt(item, kept, whole):
    assert keepable(item) == (kept, whole)


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({"url": "https://example.com/"}, "https://example.com/"),
        ({"n": 1}, "request a"),
        (Product.model_construct(sku="1"), "request a"),
        (print, "request a"),
    ],
)
def test_the_log_says_where_a_rejected_item_comes_from(opened, settled, caplog, item, place):
    async def run():
        async with opened() as storage:
            await storage.reject(item, settled.origin("a"), Rejection("key", "why"))

    asyncio.run(run())
    assert f" from {place} (" in caplog.text


class Offer(BaseModel):
    collection: ClassVar = "offers"
    key_fields: ClassVar = ("sku",)
    sku: str


class Sale(BaseModel):
    collection: ClassVar = "offers"
    key_fields: ClassVar = ("sku",)
    sku: str
    ean: str


def test_what_mongodb_refuses_keeps_its_own_class_beside_another_one_in_the_collection(put, mongo_db, settled):
    mongo_db.offers.create_index("ean", unique=True)
    items = [Offer(sku="0"), Sale(sku="1", ean="5"), Sale(sku="2", ean="5")]
    put(*((item, settled.origin(str(n))) for n, item in enumerate(items)))

    assert mongo_db.offers_rejected.find_one()["item_class"] == class_path(Sale)


def test_a_reason_as_long_as_the_item_harms_neither_it_nor_its_neighbour(opened, mongo_db, settled):
    long = "x" * 9_000_000
    origins = [settled.origin(one) for one in "ab"]

    async def run():
        async with opened(flush_seconds=1) as storage:
            await storage.reject({"text": long}, origins[0], Rejection("invalid-value_error", f"text: bad {long}"))
            await storage.reject({"n": 1}, origins[1], Rejection("key", "why"))

    asyncio.run(run())
    assert [origin.delivery.error for origin in origins] == [None, None]
    assert {one["request_id"]: one["replayable"] for one in mongo_db.items_rejected.find()} == {"a": True, "b": True}


def test_an_excerpt_that_is_too_large_itself_becomes_a_text():
    kept, whole = keepable({"sheets": [[["c" * 200] * 100] * 200] * 5})

    assert not whole
    assert isinstance(kept, str)
    assert kept.startswith("{'sheets': [[['ccc")
