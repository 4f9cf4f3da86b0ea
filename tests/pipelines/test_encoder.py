"""The table of docs/storage.md: what goes in, and what a reader of MongoDB gets back."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import ip_address, ip_interface, ip_network
from math import isnan
from pathlib import PurePosixPath
from uuid import UUID

import attrs
import pytest
import scrapy
from bson import Decimal128, Regex
from pydantic import BaseModel, ByteSize, HttpUrl, PostgresDsn
from pymongo import MongoClient

from spiders_project.pipelines.encoder import CODEC, EncodeError, encode
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.storage import Storage


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()


class Span(timedelta):
    """As pandas and pendulum have one."""


class Uid(UUID):
    """As database drivers have one."""


@dataclass
class Plain:
    when: date
    tags: tuple


@attrs.define
class Attrs:
    size: Decimal


class Model(BaseModel):
    size: Decimal
    inner: dict


class Classic(scrapy.Item):
    name = scrapy.Field()


UTC = timezone.utc
CET = timezone(timedelta(hours=1))
NAIVE = datetime(2024, 1, 2, 3)  # noqa: DTZ001 - the row is about it
UID = UUID("12345678-1234-5678-1234-567812345678")

TABLE = [
    ("none", None, None),
    ("bool", True, True),
    ("int", 2**63 - 1, 2**63 - 1),
    ("negative int", -(2**63), -(2**63)),
    ("int from 2**63 on", 2**63, Decimal128(str(2**63))),
    ("int of more than 34 digits", 10**40 + 1, str(10**40 + 1)),
    ("float", 1.5, 1.5),
    ("infinity", float("inf"), float("inf")),
    ("str", "Köln\0", "Köln\0"),
    ("str subclass", Text("text"), "text"),
    ("int subclass", ByteSize(5), 5),
    ("int subclass from 2**63 on", ByteSize(2**63), Decimal128(str(2**63))),
    ("URL of pydantic", HttpUrl("https://example.com/a"), "https://example.com/a"),
    ("URL of several hosts", PostgresDsn("postgres://a.example,b.example/c"), "postgres://a.example,b.example/c"),
    ("IP network", ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    ("timedelta subclass", Span(seconds=3), 3.0),
    ("UUID subclass", Uid(int=5), UUID(int=5)),
    ("IP address of a network", ip_interface("10.0.0.1/8"), "10.0.0.1/8"),
    ("lone surrogate", "a\ud800b", "a\ufffdb"),
    ("pair of surrogates", "\ud83d\ude00", "\U0001f600"),
    ("bytes", b"\x00\xff", b"\x00\xff"),
    ("bytearray", bytearray(b"ab"), b"ab"),
    ("memoryview", memoryview(b"ab"), b"ab"),
    ("datetime with zone", datetime(2024, 1, 2, 1, tzinfo=CET), datetime(2024, 1, 2, 0, tzinfo=UTC)),
    ("datetime without zone", NAIVE, datetime(2024, 1, 2, 3, tzinfo=UTC)),
    (
        "microseconds",
        datetime(2024, 1, 2, microsecond=123999, tzinfo=UTC),
        datetime(2024, 1, 2, microsecond=123000, tzinfo=UTC),
    ),
    ("date", date(2024, 1, 2), datetime(2024, 1, 2, tzinfo=UTC)),
    ("time", time(3, 4, 5), "03:04:05"),
    ("timedelta", timedelta(minutes=1, milliseconds=500), 60.5),
    ("Decimal", Decimal("19.90"), Decimal128("19.90")),
    ("Decimal of more than 34 digits", Decimal("1." + "1" * 40), "1." + "1" * 40),
    ("Decimal NaN", Decimal("NaN"), Decimal128("NaN")),
    ("list", [1, [2]], [1, [2]]),
    ("tuple", (1, (2,)), [1, [2]]),
    ("deque", deque([1, 2]), [1, 2]),
    ("range", range(3), [0, 1, 2]),
    ("set", {"b", "a", "c"}, ["a", "b", "c"]),
    ("frozenset of mixed types", frozenset({"b", 2, 1, None}), [None, 1, 2, "b"]),
    ("Enum", Colour.RED, "red"),
    ("IntEnum", Level.HIGH, 3),
    ("UUID", UID, UID),
    ("IP address", ip_address("::1"), "::1"),
    ("path", PurePosixPath("/a/b"), "/a/b"),
    ("pattern", re.compile("a+", re.IGNORECASE), Regex("a+", re.IGNORECASE | re.UNICODE)),
    ("dataclass", Plain(date(2024, 1, 2), (1,)), {"when": datetime(2024, 1, 2, tzinfo=UTC), "tags": [1]}),
    ("attrs", Attrs(Decimal(1)), {"size": Decimal128("1")}),
    (
        "pydantic",
        Model(size="1.5", inner={"d": date(2024, 1, 2)}),
        {"size": Decimal128("1.5"), "inner": {"d": datetime(2024, 1, 2, tzinfo=UTC)}},
    ),
    ("scrapy.Item", Classic(name="x"), {"name": "x"}),
    ("mapping", OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    ("key with a dot", {"a.b": 1}, {"a\uff0eb": 1}),
    ("key with a dollar", {"$set": 1, "a$": 2}, {"\uff04set": 1, "a$": 2}),
    ("key with NUL", {"a\0b": 1}, {"a\u2400b": 1}),
    ("key with a lone surrogate", {"\ud800": 1}, {"\ufffd": 1}),
    ("empty key", {"": 1}, {"": 1}),
    ("int key", {1: "a"}, {"1": "a"}),
    ("None key", {None: "a"}, {"None": "a"}),
    ("bytes key", {b"k": "a"}, {"k": "a"}),
    ("date key", {date(2024, 1, 2): "a"}, {"2024-01-02": "a"}),
    ("Enum key", {Colour.RED: "a"}, {"red": "a"}),
    ("tuple key", {(1, 2): "a"}, {"(1, 2)": "a"}),
]
ROWS = pytest.mark.parametrize(("value", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])


@pytest.fixture(scope="module")
def read_back(mongo_uri):
    """Every row of the table, stored by one worker and read back from MongoDB by its name."""

    async def store():
        options = StorageOptions(uri=mongo_uri, database="test_encoder", item_keys={"dict": ("row",)})
        storage = Storage(options, "table", lambda name, number: None)
        await storage.open()
        for name, value, _ in TABLE:
            await storage.put({"row": name, "value": value}, None)
        await storage.put({"row": "NaN", "value": float("nan")}, None)
        await storage.close()

    asyncio.run(store())
    with MongoClient(mongo_uri) as client:
        items = client.get_database("test_encoder", codec_options=CODEC)["items"]
        yield {item["row"]: item["value"] for item in items.find()}
        client.drop_database("test_encoder")


@pytest.mark.parametrize(("row", "expected"), [(row[0], row[2]) for row in TABLE], ids=[row[0] for row in TABLE])
def test_reads_back_from_mongodb(read_back, row, expected):
    assert read_back[row] == expected
    assert isinstance(read_back[row], type(expected))


def test_nan_reads_back_from_mongodb(read_back):
    assert isnan(read_back["NaN"])


@ROWS
def test_encoding_what_was_read_changes_nothing(value, expected):
    assert encode(encode(value)) == encode(value)


def within(levels, value=1):
    for _ in range(levels):
        value = [value]
    return value


def inside_itself():
    value = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [{"b": lambda: 0}]}, "a.0.b: a builtins.function has no form"),
        ({"a": (number for number in "12")}, "a: a builtins.generator has no form"),
        ({"a": {1: 0, "1": 0}}, "a: two keys become the same field '1'"),
        (within(200), "nested deeper than"),
        (inside_itself(), "nested deeper than"),
    ],
)
def test_what_has_no_form_is_named_by_its_path(value, message):
    with pytest.raises(EncodeError, match=re.escape(message)):
        encode(value)


def test_what_is_nested_as_deep_as_may_be_is_stored_and_its_history_too(put, mongo_db):
    deepest, tested = within(90), {"item_keys": {"dict": ("n",)}, "history": True}
    put(({"n": 1, "value": deepest}, None), **tested)
    put(({"n": 1, "value": within(90, 2)}, None), **tested)

    assert mongo_db["items"].find_one()["value"] == within(90, 2)
    assert mongo_db["items_history"].find_one()["fields"]["value"]["before"] == deepest
