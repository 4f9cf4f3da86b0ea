"""Pushing seeds to a real Redis."""

from __future__ import annotations

import io
import itertools

import pytest

from spiders_project.seeds import writer
from spiders_project.seeds.schema import MAX_ENTRY_BYTES, parse
from spiders_project.seeds.writer import Refusal, push, read_entries

KEY = "site:start_urls"


def test_the_order_of_the_entries_is_the_order_of_the_list(redis_client):
    report = push(redis_client, KEY, ["http://a.com/", b"http://b.com/", {"url": "http://ä.com/", "priority": 3}])
    assert (report.pushed, report.refused, report.refused_count) == (3, (), 0)
    popped = [redis_client.lpop(KEY) for _ in range(3)]
    assert popped == [b"http://a.com/", b"http://b.com/", '{"url": "http://ä.com/", "priority": 3}'.encode()]
    assert parse(popped[2]).priority == 3


def test_a_bad_entry_harms_no_neighbour_and_is_named(redis_client):
    entries = ["http://a.com/", "# a comment", "", "b.com", b"\xff", {"url": "http://c.com/", "prio": 1}, {"url": {1}}]
    report = push(redis_client, KEY, entries)
    assert report.pushed == 1
    assert [(r.line, r.reason.partition(";")[0]) for r in report.refused] == [
        (4, "no scheme in b.com"),
        (5, "not UTF-8: byte 0xff at position 0"),
        (6, "unknown key 'prio'"),
        (7, "the entry cannot be written as JSON: Object of type set is not JSON serializable"),
    ]
    assert redis_client.lrange(KEY, 0, -1) == [b"http://a.com/"]


def test_a_set_and_a_sorted_set_are_written_as_scrapy_redis_reads_them(redis_client):
    push(redis_client, "set", ["http://a.com/", "http://a.com/"], kind="set")
    assert redis_client.smembers("set") == {b"http://a.com/"}
    push(redis_client, "zset", ["http://a.com/", '{"url": "http://b.com/", "priority": 5}'], kind="zset")
    best = redis_client.zrevrange("zset", 0, 0, withscores=True)
    assert best == [(b'{"url": "http://b.com/", "priority": 5}', 5.0)]


def test_an_endless_stream_is_pushed_in_batches_and_progress_is_told(redis_client):
    told = []

    def tell(pushed):
        told.append((pushed, redis_client.llen(KEY)))

    entries = (f"http://a.com/{n}" for n in itertools.count())
    push(redis_client, KEY, itertools.islice(entries, 25), batch=10, on_progress=tell)
    assert told == [(10, 10), (20, 20), (25, 25)]


def test_refusals_beyond_a_bound_are_counted_only(redis_client, monkeypatch):
    monkeypatch.setattr(writer, "MAX_REFUSALS", 3)
    report = push(redis_client, KEY, ["bad"] * 10)
    assert len(report.refused) == 3
    assert report.refused_count == 10


def test_a_long_bad_entry_is_shown_cut(redis_client):
    report = push(redis_client, KEY, [b"x" * 5000])
    assert report.refused == (Refusal("x" * 200 + "…", report.refused[0].reason, 1),)


def test_schemes_can_be_allowed(redis_client):
    assert push(redis_client, KEY, ["ftp://a.com/"], allowed_schemes=("ftp",)).pushed == 1


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nhttp://b.com/\n"])
def test_a_line_longer_than_an_entry_is_cut_where_the_next_begins(ending):
    lines = list(read_entries(io.BytesIO(b"http://a.com/\n" + b"x" * 3 * MAX_ENTRY_BYTES + ending)))
    assert lines[0] == b"http://a.com/\n"
    assert MAX_ENTRY_BYTES < len(lines[1]) <= MAX_ENTRY_BYTES + 2
    assert lines[2:] == ([b"http://b.com/\n"] if ending.endswith(b"com/\n") else [])
