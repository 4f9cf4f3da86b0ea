"""What a class says of its storage is checked before the crawl, or with its first item."""

from __future__ import annotations

import asyncio

import pytest

from spiders_project.errors import StorageError
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.shape import MAX_NAME_BYTES, shape_of
from spiders_project.pipelines.storage import Storage


class Book(dict):
    """To be given attributes."""


def book(**attributes):
    return type("Book", (Book,), attributes)


WRONG = [
    ("collection", "a..b", "MongoDB takes no such name"),
    ("collection", "system.x", "MongoDB takes no such name"),
    ("collection", "$", "MongoDB takes no such name"),
    ("collection", "a\0", "MongoDB takes no such name"),
    ("collection", ".a", "MongoDB takes no such name"),
    ("collection", "", "a text that is not empty"),
    ("collection", 3, "a text that is not empty"),
    ("collection", "ä" * 100, "182 bytes at most"),
    ("collection", "price_history", "names that end in _rejected and _history"),
    ("collection", "books_rejected", "names that end in _rejected and _history"),
    ("key_fields", "isbn", r'write the names of fields in a tuple, as \("isbn",\)'),
    ("key_fields", ("isbn", 1), "write the names of fields in a tuple"),
    ("volatile_fields", "shelf", r'as \("shelf",\)'),
    ("indexes", "author", r'\("author",\) is one index'),
    ("indexes", (("author", -1),), 'a descending one "-year"'),
    ("indexes", ((),), "write a tuple of indexes"),
]


@pytest.mark.parametrize(("attribute", "value", "message"), WRONG)
def test_a_class_that_says_what_cannot_be_is_refused_at_start(attribute, value, message):
    storage = Storage(StorageOptions(), "books", lambda name, n: None, [book(**{attribute: value})])

    with pytest.raises(StorageError, match=rf"^Book\.{attribute} = .*{message}"):
        asyncio.run(storage.open())


def test_items_of_a_class_that_was_not_checked_are_set_aside_and_hold_nothing_up(opened, mongo_db, settled):
    async def run():
        async with opened() as storage:
            for n, name in enumerate(("a..b", "system.x", "books")):
                origin, item = settled.origin(str(n)), book(collection=name)(n=n)
                try:
                    await storage.put(item, origin)
                except Rejection as rejection:
                    await storage.reject(item, origin, rejection)
                origin.delivery.release()

    asyncio.run(asyncio.wait_for(run(), 10))
    assert sorted(settled.ids) == ["0", "1", "2"]
    assert [one["n"] for one in mongo_db.books.find()] == [2]
    assert {one["item"]["n"]: one["code"] for one in mongo_db.items_rejected.find()} == {0: "class", 1: "class"}


def test_the_longest_name_that_is_taken_has_room_for_its_endings(put, mongo_db, settled):
    kind = book(collection="b" * MAX_NAME_BYTES, key_fields=["isbn"])
    put((kind(isbn=1, n=1), settled.origin("a")), history=True)
    put((kind(isbn=1, n=2), settled.origin("b")), history=True)

    shape = shape_of(kind, "books", {})
    assert mongo_db[shape.history].count_documents({}) == 1
    assert len(f"{'d' * 63}.{shape.rejected}") <= 255


@pytest.mark.parametrize("value", [None, "", b"", [], {}, (), set()])
def test_an_empty_key_is_no_key(opened, settled, value):
    async def run():
        async with opened(item_keys={"dict": ("k",)}) as storage:
            await storage.put({"k": value}, settled.origin())

    with pytest.raises(Rejection, match="k: the key field is missing or empty"):
        asyncio.run(run())


def test_a_key_lies_within_another_field_or_has_a_dot_in_its_name(put, mongo_db, settled):
    items = [{"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"b": 2, "c": 3}}, {"a.b": 3}, {"a.b": 4}, {"a.b": 4, "n": 5}]
    put(*((item, settled.origin(str(n))) for n, item in enumerate(items)), item_keys={"dict": ("a.b",)})

    assert mongo_db["items"].count_documents({}) == 4
    assert mongo_db["items"].count_documents({"fetch_count": 2}) == 2


@pytest.mark.parametrize("name", ["a..b", "a$b", "system.x", "x" * 300])
def test_a_class_whose_name_makes_no_collection_is_refused(name):
    with pytest.raises(StorageError, match="collection = "):
        shape_of(type(name, (dict,), {}), "books", {})
