import math
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from threading import Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider
from scrapy.http import Headers
from scrapy.selector import Selector

from spiders_project.errors import CodecError
from spiders_project.frontier.codec import class_of, decode, encode, method_name, method_of

URL = "https://example.com/"


class Level(IntEnum):
    HIGH = 3


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(timezone.utc))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
keys = st.text() | st.integers(-(2**63), 2**63) | st.booleans() | st.binary() | st.tuples(st.text(), st.integers())
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=12,
)


@given(meta=st.dictionaries(st.text(), values), cb_kwargs=st.dictionaries(st.text(), values))
def test_whatever_is_written_is_read_again(meta, cb_kwargs):
    fields = {"url": URL, "meta": meta, "cb_kwargs": cb_kwargs}
    assert decode(encode(fields)) == {name: value for name, value in fields.items() if value != {}}


@given(
    st.fixed_dictionaries(
        {"url": st.just(URL)},
        optional={
            "method": st.sampled_from(["POST", "PUT"]),
            "headers": st.dictionaries(st.binary(), st.lists(st.binary())),
            "body": st.binary(),
            "priority": st.integers(-(2**31), 2**31),
            "dont_filter": st.booleans(),
            "callback": st.text(min_size=1),
            "flags": st.lists(st.text()),
            "encoding": st.sampled_from(["cp1252", "utf-8"]),
        },
    )
)
def test_fields_at_their_defaults_are_left_out_and_the_others_kept(fields):
    defaults = {
        "headers": {},
        "body": b"",
        "priority": 0,
        "dont_filter": False,
        "flags": [],
        "encoding": "utf-8",
        "method": "GET",
    }
    expected = {name: value for name, value in fields.items() if name not in defaults or value != defaults[name]}
    assert decode(encode(fields)) == expected


@given(st.binary())
def test_garbage_is_a_codec_error_and_nothing_else(garbage):
    try:
        decode(garbage)
    except CodecError:
        return
    assert encode(decode(garbage))


def test_types_are_kept():
    meta = {
        "tuple": (1, (2, [3])),
        "set": {1, 2},
        "aware": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2))),
        "naive": datetime(2026, 1, 2),  # noqa: DTZ001 - people do put naive times into meta
        "date": date(2026, 1, 2),
        "time": time(1, 2, 3),
        "delta": timedelta(days=-1, microseconds=5),
        "decimal": Decimal("1.10"),
        "big": 2**80,
        "uuid": uuid.UUID(int=5),
        "inf": math.inf,
        "surrogate": "\ud800",
        1: {"int key": None},
    }
    read = decode(encode({"url": URL, "meta": meta}))["meta"]
    assert read == meta
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in meta.items()}
    assert str(read["decimal"]) == "1.10"
    assert read["aware"].utcoffset() == timedelta(hours=2)


def test_subclasses_are_written_as_their_base():
    read = decode(encode({"url": URL, "headers": Headers({"A": "b"}), "meta": {"level": Level.HIGH}}))
    assert read["headers"] == {b"A": [b"b"]}
    assert read["meta"] == {"level": 3}


@pytest.mark.parametrize(
    ("value", "says"),
    [(lambda: None, "function"), (Lock(), "lock"), (Selector(text="<p>"), "Selector"), (object(), "object")],
)
def test_what_cannot_be_written_is_named(value, says):
    with pytest.raises(CodecError, match=rf"meta\['bad'\] cannot be written: .*{says}"):
        encode({"url": URL, "meta": {"good": 1, "bad": value}})


def test_a_value_that_contains_itself_is_named():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(CodecError, match=r"cb_kwargs\['loop'\]"):
        encode({"url": URL, "cb_kwargs": {"loop": loop}})


def test_a_request_that_is_too_large_says_which_field():
    with pytest.raises(CodecError, match=r"more than FRONTIER_MAX_REQUEST_BYTES \(1000\); body takes 20\d\d"):
        encode({"url": URL, "body": b"x" * 2000, "meta": {"a": "y" * 10}}, max_bytes=1000)


def test_a_small_request_has_a_small_payload():
    assert len(encode({"url": URL, "callback": None, "meta": {}})) <= len(URL) + 4


class Demo(Spider):
    name = "demo"

    def parse_page(self, response):
        yield None


def test_a_callback_travels_by_name():
    spider = Demo()
    assert method_name(spider, spider.parse_page) == "parse_page"
    assert method_of(spider, "parse_page") == spider.parse_page


@pytest.mark.parametrize("callback", [lambda r: r, Demo().parse_page, print])
def test_a_callback_that_is_no_method_of_the_spider_is_refused(callback):
    with pytest.raises(CodecError, match="not a method of the spider"):
        method_name(Demo(), callback)


@pytest.mark.parametrize("name", ["__init__", "__class__", "name", "gone", ""])
def test_a_name_that_is_no_callback_is_refused(name):
    with pytest.raises(CodecError, match="is no method of Demo"):
        method_of(Demo(), name)


def test_a_request_class_is_found_only_among_imported_request_classes():
    assert class_of("scrapy.http.request.form.FormRequest", Request) is FormRequest
    for path in ("os.system", "antigravity.fly", "scrapy.Spider", "", "scrapy"):
        with pytest.raises(CodecError, match="is not known here"):
            class_of(path, Request)
