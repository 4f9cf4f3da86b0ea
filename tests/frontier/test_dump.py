"""Export and import on a real Redis: what is in the file, what is new where it is read, what a running crawl keeps."""

from __future__ import annotations

import json
import threading

import pytest

from spiders_project.errors import FrontierError
from spiders_project.frontier import codec
from spiders_project.frontier.contract import Ack, Bury, Put
from spiders_project.frontier.dead_letters import letters
from spiders_project.frontier.dump import Dump, writing
from spiders_project.frontier.export import export_crawl
from spiders_project.frontier.imports import import_crawl
from tests.frontier.peer import Peer, crawl_of, mark_of, put, urls


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client)


@pytest.fixture
def peer(redis_url, crawl):
    return Peer(redis_url, crawl)


@pytest.fixture
def other(redis_client):
    """An empty crawl beside it."""
    return crawl_of(redis_client, "other")


def fingerprint(fields):
    return mark_of(fields["url"])


def exported(crawl, path, progress=lambda _: None):
    with writing(path) as out:
        export_crawl(crawl, out, progress)
    return Dump(path)


def imported(crawl, dump):
    return import_crawl(crawl, dump, fingerprint, lambda _: None)


def numbers(counts):
    return counts.request, counts.seed, counts.dead, counts.rejected, counts.seen


@pytest.mark.parametrize("name", ["crawl.frontier", "crawl.frontier.gz"])
def test_an_empty_crawl_becomes_what_the_exported_one_was(crawl, peer, other, redis_client, redis_url, tmp_path, name):
    peer.exchange(*(put(f"http://a.example/{number}", meta={"n": number}) for number in range(6)))
    first, second = peer.claim(2)
    peer.exchange(Ack(first.request_id), Bury(second.request_id, b'{"reason": "item", "error": "x"}'))
    leased = peer.claim(1)
    redis_client.rpush("site:start_urls", "http://s.example/1", "http://s.example/2")
    redis_client.rpush(crawl.keys.rejected, b'{"entry": "?", "reason": "no URL", "time": "2026-01-01T00:00:00+00:00"}')
    dump = exported(crawl, tmp_path / name)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert numbers(dump.counts) == (4, 2, 1, 1, 6)

    assert numbers(imported(other, dump))[:4] == (4, 2, 1, 1)
    peer = Peer(redis_url, other)
    claims = peer.claim()
    assert urls(claims) == [*urls(leased), *(f"http://a.example/{number}" for number in (3, 4, 5))]
    assert [codec.decode(claim.payload)["meta"]["n"] for claim in claims] == [2, 3, 4, 5]
    assert redis_client.lrange("other:start_urls", 0, -1) == [b"http://s.example/1", b"http://s.example/2"]
    assert [letter.url for letter in letters(other)] == urls([second])
    assert redis_client.llen(other.keys.rejected) == 1
    assert peer.exchange(*(put(f"http://a.example/{number}") for number in range(6))).dropped == [0, 1, 2, 3, 4, 5]


def test_an_import_that_is_repeated_adds_nothing_twice(crawl, peer, other, redis_client, redis_url, tmp_path):
    peer.exchange(put("http://a.example/1"), put("http://a.example/2", dont_filter=True), put("http://a.example/3"))
    [claim] = peer.claim(1)
    peer.exchange(Bury(claim.request_id, b"{}"))
    redis_client.rpush("site:start_urls", "http://s.example/")
    dump = exported(crawl, tmp_path / "x")
    imported(other, dump)
    assert numbers(imported(other, dump)) == (0, 0, 0, 0, 0)
    assert len(urls(Peer(redis_url, other).claim())) == 2
    assert redis_client.llen("other:start_urls") == 1
    assert len(list(letters(other))) == 1


def test_a_request_that_is_seen_in_both_crawls_is_queued_once(crawl, peer, other, redis_url, tmp_path):
    peer.exchange(put("http://a.example/1"), put("http://a.example/2"), put("http://a.example/3"))
    there = Peer(redis_url, other)
    there.exchange(put("http://a.example/2"))
    [claim] = there.claim()
    there.exchange(Ack(claim.request_id), put("http://a.example/3"))
    assert numbers(imported(other, exported(crawl, tmp_path / "x")))[0] == 1
    assert sorted(urls(there.claim())) == ["http://a.example/1", "http://a.example/3"]


def test_a_request_waits_for_its_time_there_too(crawl, peer, other, redis_client, redis_url, tmp_path):
    request = put("http://a.example/1")
    peer.exchange(Put(request.payload, request.host, 0, request.fingerprint, delay_ms=60_000))
    imported(other, exported(crawl, tmp_path / "x"))
    assert Peer(redis_url, other).claim() == []
    [(_, due)] = redis_client.zrange(other.keys.delayed, 0, -1, withscores=True)
    assert 50 < due / 1000 - crawl.now() <= 60


def test_what_no_program_of_ours_wrote_becomes_a_dead_letter(crawl, peer, other, redis_url, tmp_path):
    peer.exchange(Put(b"garbage", "a.example", fingerprint=mark_of("x")), put("http://a.example/2"))
    imported(other, exported(crawl, tmp_path / "x"))
    [letter] = letters(other)
    assert (letter.reason, letter.payload) == ("undecodable", b"garbage")
    assert urls(Peer(redis_url, other).claim()) == ["http://a.example/2"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data[:-6], "not whole"),
        (lambda data: data[: len(data) // 2], "not whole"),
        (lambda data: b"", "no export"),
        (lambda data: b"http://a.example/\n", "no export"),
        (lambda data: data.replace(b"\xa7version\x01", b"\xa7version\x02"), "version 2; this program reads 1"),
    ],
)
def test_a_file_that_is_not_whole_or_none_of_ours_is_refused_before_anything_is_read(
    crawl, peer, tmp_path, spoil, message
):
    peer.exchange(*(put(f"http://a.example/{number}") for number in range(50)))
    path = tmp_path / "x"
    exported(crawl, path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(FrontierError, match=message):
        Dump(path)


def test_a_failed_export_leaves_no_file(tmp_path):
    def fail():
        with writing(tmp_path / "x") as out:
            out.write(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_lost_by_an_export_of_a_running_crawl(crawl, peer, other, redis_url, tmp_path):
    """A worker walks a tree of 4,000 pages meanwhile; what it had not done when the export ended is all in the file."""
    pages = 4000

    def url(number):
        return f"http://h{number % 7}.example/{number}"

    peer.exchange(put(url(1)))
    done_before_end: set[str] = set()
    ended = threading.Event()

    def work():
        while claims := peer.claim(20):
            operations = []
            for claim, found in zip(claims, urls(claims), strict=True):
                number = int(found.rsplit("/", 1)[1])
                operations += [put(url(child)) for child in (2 * number, 2 * number + 1) if child <= pages]
                operations.append(Ack(claim.request_id))
                if not ended.is_set():
                    done_before_end.add(found)
            peer.exchange(*operations)

    worker = threading.Thread(target=work)
    worker.start()
    while len(done_before_end) < 300:
        ended.wait(0.005)
    dump = exported(crawl, tmp_path / "x")
    ended.set()
    worker.join()
    assert 300 < len(done_before_end) < pages

    imported(other, dump)
    there = Peer(redis_url, other)
    done = set(done_before_end)
    while claims := there.claim(100):
        operations = []
        for claim, found in zip(claims, urls(claims), strict=True):
            done.add(found)
            number = int(found.rsplit("/", 1)[1])
            operations += [put(url(child)) for child in (2 * number, 2 * number + 1) if child <= pages]
            operations.append(Ack(claim.request_id))
        there.exchange(*operations)
    assert done == {url(number) for number in range(1, pages + 1)}


def test_a_large_seen_set_is_whole(crawl, peer, other, redis_client, redis_url, tmp_path):
    """More than one bucket, so that splits have happened, and told of as it goes."""
    count = 3000
    for start in range(0, count, 500):
        peer.exchange(*(put(f"http://a.example/{number}") for number in range(start, start + 500)))
    while claims := peer.claim(1000):
        peer.exchange(*(Ack(claim.request_id) for claim in claims))
    assert int(redis_client.hget(crawl.keys.seen, "level")) >= 3
    dump = exported(crawl, tmp_path / "x")
    assert dump.counts.seen == count
    assert imported(other, dump).seen == count
    again = Peer(redis_url, other).exchange(*(put(f"http://a.example/{number}") for number in range(count)))
    assert len(again.dropped) == count


def test_letters_of_a_run_survive_with_their_words(crawl, peer, other, tmp_path):
    peer.exchange(put("http://a.example/1"))
    [claim] = peer.claim()
    peer.exchange(Bury(claim.request_id, json.dumps({"reason": "callback", "error": "ä", "attempts": 2}).encode()))
    [before] = letters(crawl)
    imported(other, exported(crawl, tmp_path / "x"))
    [after] = letters(other)
    assert (after.url, after.reason, after.error, after.attempts, after.at) == (
        before.url,
        "callback",
        "ä",
        2,
        before.at,
    )
