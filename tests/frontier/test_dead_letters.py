"""Dead letters on a real Redis: listed, queued again, forgotten, while a worker runs."""

from __future__ import annotations

import json

import pytest

from spiders_project.frontier import codec
from spiders_project.frontier.contract import Ack, Bury, Terms
from spiders_project.frontier.dead_letters import BATCH, Wanted, forget, letters, retry
from tests.frontier.peer import Peer, crawl_of, put, urls


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client)


@pytest.fixture
def peer(redis_url, crawl):
    return Peer(redis_url, crawl)


def bury(peer, *puts, reason="status", error="503 Service Unavailable", attempts=4):
    """Let ``puts`` be crawled and fail."""
    letter = json.dumps({"reason": reason, "error": error, "attempts": attempts}).encode()
    peer.exchange(*puts)
    peer.exchange(*(Bury(claim.request_id, letter) for claim in peer.claim(len(puts))))


def test_a_letter_says_what_failed_and_why(crawl, peer):
    bury(peer, put("http://a.example/1"))
    [letter] = letters(crawl)
    assert (letter.url, letter.host, letter.reason, letter.error, letter.attempts) == (
        "http://a.example/1",
        "a.example",
        "status",
        "503 Service Unavailable",
        4,
    )
    assert abs(letter.at - crawl.now()) < 10


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(host="a.example"), {"http://a.example/1", "http://a.example/2"}),
        (Wanted(reason="callback"), {"http://b.example/3"}),
        (Wanted(status=503), {"http://a.example/1"}),
        (Wanted(status=504), {"http://a.example/2"}),
        (Wanted(host="b.example", status=503), set()),
    ],
)
def test_letters_are_filtered(crawl, peer, wanted, found):
    bury(peer, put("http://a.example/1"))
    bury(peer, put("http://a.example/2"), error="504 Gateway Timeout")
    bury(peer, put("http://b.example/3"), reason="callback", error="503 is no status here")
    assert {letter.url for letter in letters(crawl, wanted)} == found


def test_letters_are_filtered_by_age(crawl, peer):
    bury(peer, put("http://a.example/1"))
    now = crawl.now()
    assert list(letters(crawl, Wanted(before=now - 60))) == []
    assert len(list(letters(crawl, Wanted(after=now - 60)))) == 1


def test_a_retried_request_has_its_place_and_all_its_tries_again(crawl, peer):
    bury(peer, put("http://a.example/1", priority=7, meta={"retry_times": 3, "retry_waited": 3, "mine": (1, 2)}))
    peer.exchange(put("http://a.example/2", priority=8), put("http://a.example/3", priority=6))
    assert retry(crawl, Wanted()).queued == 1
    claims = peer.claim()
    assert urls(claims) == ["http://a.example/2", "http://a.example/1", "http://a.example/3"]
    assert codec.decode(claims[1].payload)["meta"] == {"mine": (1, 2)}
    assert list(letters(crawl)) == []


def test_a_slot_that_the_author_set_is_the_host_of_the_retry(crawl, peer):
    bury(peer, put("http://a.example/1", meta={"download_slot": "slow"}))
    retry(crawl, Wanted())
    assert [claim.host for claim in peer.claim()] == ["slow"]


def test_a_retry_opens_a_new_run(redis_client, redis_url):
    crawl = crawl_of(redis_client, terms=Terms(max_idle_ms=0, seeds_key="site:start_urls"))
    peer = Peer(redis_url, crawl)
    bury(peer, put("http://a.example/1"))
    first = peer.exchange().run
    assert redis_client.hget(crawl.keys.run, "state") == b"finished"
    retry(crawl, Wanted())
    answer = peer.exchange(want=1)
    assert answer.run not in ("", first)
    assert redis_client.hget(crawl.keys.run, "state") == b"open"


def test_more_letters_than_a_batch_are_moved_and_none_is_doubled(crawl, peer):
    count = 2 * BATCH + 7
    bury(peer, *(put(f"http://a.example/{number:04}") for number in range(count)))
    assert retry(crawl, Wanted()).queued == count
    assert sorted(urls(peer.claim(2 * count))) == [f"http://a.example/{number:04}" for number in range(count)]


def test_a_limit_is_kept(crawl, peer):
    bury(peer, *(put(f"http://a.example/{number}") for number in range(9)))
    assert retry(crawl, Wanted(), limit=4).queued == 4
    assert forget(crawl, Wanted(), limit=3) == 3
    assert len(list(letters(crawl))) == 2


def test_what_cannot_be_read_stays(crawl, peer, redis_client):
    bury(peer, put("http://a.example/1"), put("http://a.example/2"))
    [first, *_] = letters(crawl)
    value = redis_client.hget(crawl.keys.dead, first.id)
    redis_client.hset(crawl.keys.dead, first.id, value.replace(b"http", b"\xc1ttp"))
    done = retry(crawl, Wanted())
    assert (done.queued, done.unreadable) == (1, 1)
    assert [letter.id for letter in letters(crawl)] == [first.id]


def test_what_is_retried_at_the_page_limit_waits_for_the_next_run(redis_client, redis_url):
    crawl = crawl_of(redis_client, terms=Terms(max_pages=1, seeds_key="site:start_urls"))
    peer = Peer(redis_url, crawl)
    bury(peer, put("http://a.example/1"))
    peer.exchange(put("http://a.example/2"))
    [claim] = peer.claim(1)
    peer.exchange(Ack(claim.request_id, pages=1))
    assert retry(crawl, Wanted()).queued == 1
    assert peer.claim() == []
    assert redis_client.hlen(crawl.keys.requests) == 1
