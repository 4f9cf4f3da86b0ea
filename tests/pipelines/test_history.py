"""MONGO_HISTORY: each change once, with before and after, also after a crash or a redelivery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import ClassVar

import bson
import pytest

from spiders_project.pipelines.history import difference

KEYS = {"history": True, "item_keys": {"dict": ("isbn",)}}


@dataclass
class Book:
    key_fields: ClassVar = ("isbn",)
    volatile_fields: ClassVar = ("shelf",)

    isbn: str
    price: int
    shelf: int = 0


def changes(mongo_db, collection="items_history"):
    return [one["fields"] for one in mongo_db[collection].find().sort("changed_at")]


def test_a_change_is_kept_with_before_and_after(put, mongo_db, settled):
    put(({"isbn": "1", "price": 3, "old": True}, settled.origin("a")), **KEYS)
    put(({"isbn": "1", "price": 4, "new": True}, settled.origin("b")), **KEYS)

    (change,) = mongo_db.items_history.find()
    assert change["fields"] == {
        "price": {"before": 3, "after": 4},
        "old": {"before": True},
        "new": {"after": True},
    }
    assert change["item_id"] == mongo_db["items"].find_one()["_id"]
    assert change["changed_at"] == mongo_db["items"].find_one()["last_seen"]
    assert change["request_id"] == "b"


def test_a_volatile_field_is_no_change(put, mongo_db, settled):
    put((Book("1", 3, shelf=1), settled.origin("a")), history=True)
    put((Book("1", 3, shelf=2), settled.origin("b")), history=True)
    assert mongo_db.books_history.count_documents({}) == 0
    put((Book("1", 4, shelf=3), settled.origin("c")), history=True)
    assert changes(mongo_db, "books_history") == [{"price": {"before": 3, "after": 4}}]


def test_a_redelivered_request_is_no_change(put, mongo_db, settled):
    put(({"isbn": "1", "price": 3}, settled.origin("a")), **KEYS)
    put(({"isbn": "1", "price": 4}, settled.origin("a")), **KEYS)
    assert mongo_db.items_history.count_documents({}) == 0
    put(({"isbn": "1", "price": 5}, settled.origin("b")), **KEYS)
    put(({"isbn": "1", "price": 5}, settled.origin("b")), **KEYS)
    assert changes(mongo_db) == [{"price": {"before": 4, "after": 5}}]


def test_changes_of_one_batch_are_each_kept(put, mongo_db, settled):
    put(*(({"isbn": "1", "price": price}, settled.origin(f"{price}")) for price in (1, 2, 2, 3)), **KEYS)

    assert changes(mongo_db) == [{"price": {"before": 1, "after": 2}}, {"price": {"before": 2, "after": 3}}]


def test_a_record_whose_change_was_never_made_is_taken_back(put, mongo_db, settled):
    put(({"isbn": "1", "price": 3}, settled.origin("a")), **KEYS)
    put(({"isbn": "1", "price": 4}, settled.origin("b")), **KEYS)
    # As if the worker had died between the record and the change, and the page had gone back meanwhile.
    mongo_db["items"].update_one({}, {"$set": {"request_ids": ["a"]}})
    put(({"isbn": "1", "price": 4}, settled.origin("b")), **KEYS)

    assert mongo_db.items_history.count_documents({}) == 0


def test_the_questions_of_the_docs_have_answers(put, mongo_db, settled):
    def crawl(crawl, *books):
        begun = datetime.now(timezone.utc)
        put(*((Book(isbn, price), settled.origin(f"{crawl} {isbn}")) for isbn, price in books), history=True)
        return begun

    crawl("first", ("stays", 1), ("changes", 1), ("vanishes", 1))
    since = crawl("second", ("stays", 1), ("changes", 2), ("new", 1))

    def found(query):
        return {book["isbn"] for book in mongo_db.books.find({"spider": "books"} | query)}

    assert found({"first_seen": {"$gte": since}}) == {"new"}
    assert found({"changed_at": {"$gte": since}, "first_seen": {"$lt": since}}) == {"changes"}
    assert found({"last_seen": {"$lt": since}}) == {"vanishes"}
    (change,) = mongo_db.books_history.find({"fields.price": {"$exists": True}, "changed_at": {"$gte": since}})
    assert change["item_id"] == mongo_db.books.find_one({"isbn": "changes"})["_id"]


def test_a_change_too_large_to_be_kept_is_recorded_without_its_values(put, mongo_db, settled):
    put(({"isbn": "1", "text": "a" * 9_000_000}, settled.origin("a")), **KEYS)
    put(({"isbn": "1", "text": "b" * 9_000_000}, settled.origin("b")), **KEYS)

    assert changes(mongo_db) == [{"text": {"too_large": True}}]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": float("nan")}, {"a": float("nan")}, {}),
        (
            {"a": [1, {"b": 2}]},
            {"a": [1, {"b": 3}]},
            {"a": {"before": [1, {"b": 2}], "after": [1, {"b": 3}]}},
        ),
        ({"a": bson.Decimal128("1.0")}, {"a": bson.Decimal128("1.0")}, {}),
    ],
)
def test_the_difference_names_what_differs(before, after, expected):
    assert difference(before, after) == expected


PAGE_TWICE = [({"isbn": "1", "price": 2}, 0), ({"isbn": "1", "price": 3}, 1)]


@pytest.mark.parametrize("batch_size", [1, 100])
def test_a_page_that_has_an_item_twice_makes_one_change_to_what_it_is_in_the_end(put, mongo_db, settled, batch_size):
    put(({"isbn": "1", "price": 1}, settled.origin("a")), **KEYS)
    for _ in range(2):  # the second time as a redelivery
        if batch_size == 1:
            for item, ordinal in PAGE_TWICE:
                put((item, settled.origin("b", ordinal=ordinal)), **KEYS)
        else:
            put(*((item, settled.origin("b", ordinal=ordinal)) for item, ordinal in PAGE_TWICE), **KEYS)

    assert mongo_db["items"].find_one()["price"] == 3
    assert changes(mongo_db) == [{"price": {"before": 1, "after": 3}}]


def test_a_change_that_mongodb_refuses_is_in_no_history(put, mongo_db, settled):
    mongo_db["items"].create_index("shelf", unique=True)
    put(*(({"isbn": str(n), "shelf": n}, settled.origin(str(n))) for n in range(2)), **KEYS)
    put(({"isbn": "1", "shelf": 0}, settled.origin("b")), ({"isbn": "0", "shelf": 7}, settled.origin("c")), **KEYS)

    assert mongo_db["items"].find_one({"isbn": "1"})["shelf"] == 1
    assert mongo_db["items_rejected"].count_documents({}) == 1
    assert changes(mongo_db) == [{"shelf": {"before": 0, "after": 7}}]


@dataclass
class Magazine:
    collection: ClassVar = "books"
    key_fields: ClassVar = ("isbn",)
    volatile_fields: ClassVar = ("stand",)

    isbn: str
    price: int
    stand: int = 0


def test_each_class_of_a_collection_has_its_own_volatile_fields(put, mongo_db, settled):
    for price in (1, 2):
        book, magazine = Book("1", price, shelf=price), Magazine("1", price, stand=price)
        put((book, settled.origin(f"b{price}")), (magazine, settled.origin(f"m{price}")), **KEYS)

    price = {"price": {"before": 1, "after": 2}}
    assert changes(mongo_db, "books_history") == [price, price]


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0, False)])
def test_a_value_of_another_type_is_a_change_like_any_other(put, mongo_db, settled, before, after):
    put(({"isbn": "1", "n": before}, settled.origin("a")), **KEYS)
    put(({"isbn": "1", "n": after}, settled.origin("b")), **KEYS)

    assert changes(mongo_db) == [{"n": {"before": before, "after": after}}]
