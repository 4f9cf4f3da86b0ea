"""The end of a run on a real Redis: recorded once, handed to one worker, and to another when nobody acknowledged it."""

from __future__ import annotations

import asyncio

import pytest
import redis.asyncio

from spiders_project.frontier.contract import Ack, Bury, Terms
from spiders_project.frontier.run_records import Inbox, ended_runs
from tests.frontier.peer import Peer, crawl_of, put


@pytest.fixture
def crawl(redis_client):
    return crawl_of(redis_client, terms=Terms(max_idle_ms=0, seeds_key="site:start_urls"))


def run_once(peer, *links, pages=1):
    """A whole run: crawl ``links``, bury the last, and be idle."""
    peer.exchange(*map(put, links))
    claims = peer.claim(len(links))
    run = peer.exchange(
        *(Ack(claim.request_id, pages) for claim in claims[:-1]), Bury(claims[-1].request_id, b"{}")
    ).run
    peer.exchange()
    return run


def with_inbox(redis_url, crawl, what, lease=60.0):
    async def go():
        client = redis.asyncio.Redis.from_url(redis_url)
        try:
            return await what(Inbox(client, crawl.keys, lease))
        finally:
            await client.aclose()

    return asyncio.run(go())


def take(redis_url, crawl, lease=60.0):
    return with_inbox(redis_url, crawl, lambda inbox: inbox.take(), lease)


def test_a_run_that_has_ended_is_recorded_once_with_its_facts(redis_url, redis_client, crawl):
    peer = Peer(redis_url, crawl)
    run = run_once(peer, "http://a.example/1", "http://a.example/2", "http://a.example/3")
    peer.exchange()
    [record] = ended_runs(redis_client, crawl.keys, 10)
    assert (record.namespace, record.run_id, record.reason) == ("site", run, "finished")
    assert (record.done, record.pages, record.errors, record.left) == (3, 2, 1, 0)
    assert record.started_at <= record.ended_at <= crawl.now()


def test_a_run_that_ends_at_its_page_limit_says_so(redis_url, redis_client):
    crawl = crawl_of(redis_client, terms=Terms(max_idle_ms=0, max_pages=1, seeds_key="site:start_urls"))
    peer = Peer(redis_url, crawl)
    peer.exchange(put("http://a.example/1"), put("http://a.example/2"))
    [claim] = peer.claim(1)
    peer.exchange(Ack(claim.request_id, 1))
    peer.exchange()
    [record] = ended_runs(redis_client, crawl.keys, 10)
    assert (record.reason, record.pages, record.left) == ("max_pages", 1, 1)


def test_the_newest_runs_come_first(redis_url, redis_client, crawl):
    peer = Peer(redis_url, crawl)
    runs = [run_once(peer, f"http://a.example/{number}") for number in range(3)]
    assert [record.run_id for record in ended_runs(redis_client, crawl.keys, 2)] == [runs[2], runs[1]]


def test_each_record_goes_to_one_worker(redis_url, crawl):
    """Also records of runs that ended before any worker asked."""
    peer = Peer(redis_url, crawl)
    runs = [run_once(peer, f"http://a.example/{number}") for number in range(2)]
    taken = [take(redis_url, crawl) for _ in range(3)]
    assert [one and one[1].run_id for one in taken] == [*runs, None]


def test_a_record_that_was_acknowledged_is_never_handed_out_again(redis_url, crawl):
    run_once(Peer(redis_url, crawl), "http://a.example/1")

    async def do(inbox):
        record_id, _, tries = await inbox.take()
        assert tries == 1
        await inbox.done(record_id)

    with_inbox(redis_url, crawl, do)
    assert take(redis_url, crawl, lease=0) is None


def test_a_record_that_nobody_acknowledged_goes_to_another_worker_after_the_lease(redis_url, crawl):
    run = run_once(Peer(redis_url, crawl), "http://a.example/1")
    assert take(redis_url, crawl) is not None  # and its worker dies
    assert take(redis_url, crawl) is None
    again = take(redis_url, crawl, lease=0)
    assert again is not None
    assert (again[1].run_id, again[2]) == (run, 2)


def test_a_hook_at_work_keeps_its_record_beyond_the_lease(redis_url, redis_client, crawl):
    run_once(Peer(redis_url, crawl), "http://a.example/1")

    async def do(inbox):
        record_id, *_ = await inbox.take()

        def idle():
            [pending] = redis_client.xpending_range(crawl.keys.ended_runs, "hooks", "-", "+", 1)
            return pending["time_since_delivered"]

        while idle() < 30:  # noqa: ASYNC110 - Redis's clock has no event
            await asyncio.sleep(0.005)
        await inbox.keep(record_id)
        assert idle() < 30

    with_inbox(redis_url, crawl, do)


def test_a_purge_meanwhile_is_no_failure(redis_url, redis_client, crawl):
    async def do(inbox):
        assert await inbox.take() is None
        redis_client.delete(crawl.keys.ended_runs)
        assert await inbox.take() is None
        assert await inbox.take() is None

    with_inbox(redis_url, crawl, do)
