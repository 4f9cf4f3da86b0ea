"""Hosts of a crawl on a real Redis: counted, paused, resumed."""

from __future__ import annotations

import pytest

from spiders_project.frontier.contract import Ask, GiveBack, HostLimits, Pause, Terms
from spiders_project.frontier.hosts import BATCH, busiest, hosts, pause, resume
from tests.frontier.peer import Peer, crawl_of, put, urls


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client)


@pytest.fixture
def peer(redis_url, crawl):
    return Peer(redis_url, crawl)


def look(crawl):
    return {host.name: (host.queued, host.downloading, host.paused) for host in hosts(crawl)}


def test_hosts_are_found_wherever_they_stand(redis_client, redis_url):
    """Ready, waiting for the delay, full, and paused without a request."""
    crawl = crawl_of(
        redis_client,
        terms=Terms(
            host_limits={
                "slow.example": HostLimits(delay_ms=60_000),
                "full.example": HostLimits(concurrency=1),
            }
        ),
    )
    peer = Peer(redis_url, crawl)
    peer.exchange(*(put(f"http://{name}.example/{n}") for name in ("slow", "full") for n in range(3)), want=2)
    peer.exchange(put("http://ready.example/1"))
    pause(crawl, "empty.example")
    assert look(crawl) == {
        "slow.example": (2, 1, False),
        "full.example": (2, 1, False),
        "ready.example": (1, 0, False),
        "empty.example": (0, 0, True),
    }
    times = {host.name: host.next_at - crawl.now() for host in hosts(crawl) if host.next_at}
    assert times.keys() == {"slow.example"}
    assert 20 < times["slow.example"] < 100


def test_the_busiest_come_first_among_more_than_a_batch(crawl, peer):
    peer.exchange(*(put(f"http://h{number}.example/") for number in range(BATCH + 20)))
    peer.exchange(*(put(f"http://h7.example/{number}") for number in range(3)))
    assert [(host.name, host.queued) for host in busiest(crawl, 1)] == [("h7.example", 4)]
    assert len(look(crawl)) == BATCH + 20


def test_nobody_is_handed_a_paused_host_until_it_is_resumed(crawl, peer):
    peer.exchange(put("http://a.example/1"), put("http://b.example/1"))
    assert pause(crawl, "a.example").queued == 1
    peer.exchange(put("http://a.example/2", priority=9))
    assert urls(peer.claim()) == ["http://b.example/1"]
    assert resume(crawl, "a.example").was_held
    assert urls(peer.claim()) == ["http://a.example/2", "http://a.example/1"]


def test_a_host_is_paused_before_its_first_request(crawl, peer):
    pause(crawl, "a.example")
    peer.exchange(put("http://a.example/1"))
    assert peer.claim() == []


def test_no_worker_ends_an_operators_pause(crawl, peer):
    peer.exchange(put("http://a.example/1"))
    [claim] = peer.claim()
    pause(crawl, "a.example")
    peer.exchange(Pause("a.example", 1), GiveBack(claim.request_id))
    assert peer.claim() == []
    [grant] = peer.call(lambda frontier: frontier.book([Ask("a.example", slot=True)]))
    assert not grant.granted


def test_a_pause_for_a_time_ends_by_itself_and_shortens_no_longer_one(crawl, peer, redis_client):
    peer.exchange(put("http://a.example/1"), put("http://b.example/1"), Pause("b.example", 60_000))
    long_one = redis_client.zscore(crawl.keys.waiting, "b.example")
    pause(crawl, "b.example", 0.001)
    assert redis_client.zscore(crawl.keys.waiting, "b.example") == long_one
    pause(crawl, "a.example")
    pause(crawl, "a.example", 0.001)  # a later word of the operator goes before
    while crawl.now() * 1000 <= redis_client.zscore(crawl.keys.waiting, "a.example"):
        pass
    assert urls(peer.claim()) == ["http://a.example/1"]


def test_a_resumed_host_waits_for_its_delay(redis_client, redis_url):
    crawl = crawl_of(redis_client, terms=Terms(limits=HostLimits(delay_ms=60_000, jitter=0)))
    peer = Peer(redis_url, crawl)
    peer.exchange(put("http://a.example/1"), put("http://a.example/2"), want=1)
    pause(crawl, "a.example")
    resume(crawl, "a.example")
    assert peer.claim() == []
    [host] = hosts(crawl)
    assert not host.paused
    assert 50 < host.next_at - crawl.now() <= 60.02  # a claim may start late by 20 ms
