"""The relay to Redis: adds a round trip, and counts what clients say."""

import pytest
import redis

from benchmarks.relay import CommandCounter, added, farther, relaying

PING = b"*1\r\n$4\r\nPING\r\n"
SET = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8\r\n*1\r\n$4\r\n\r\n"  # the value looks like a command


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_commands_are_counted_however_the_bytes_are_cut(size):
    stream = (PING + SET) * 5
    counter = CommandCounter()
    assert sum(counter.feed(stream[at : at + size]) for at in range(0, len(stream), size)) == 10


@pytest.mark.parametrize("milliseconds", [0.5, 1.0])
def test_a_round_trip_takes_longer_by_what_was_asked(redis_url, milliseconds):
    with farther(redis_url, milliseconds / 1000) as relay:
        # Never less; more where the machine is busy, which the bench tells.
        assert relay.added * 1000 == pytest.approx(milliseconds, abs=max(0.3, milliseconds / 2))
        assert added(redis_url, relay.url) > milliseconds / 2000


def test_calls_round_trips_and_bytes_are_counted(redis_url):
    with relaying(redis_url) as relay, redis.Redis.from_url(relay.url) as client:
        client.ping()
        before = relay.counts()
        client.set("k", b"x" * 1000)
        with client.pipeline(transaction=False) as pipeline:
            for _ in range(10):
                pipeline.get("k")
            pipeline.execute()
        after = relay.counts()
    assert after.commands - before.commands == 11
    assert after.round_trips - before.round_trips == 2
    assert 1000 < after.sent - before.sent < 2000
    assert after.received - before.received > 10_000


def test_answers_keep_their_order_when_they_are_held_back(redis_url):
    with relaying(redis_url, 0.002) as relay, redis.Redis.from_url(relay.url) as client:
        for round_ in range(20):
            with client.pipeline(transaction=False) as pipeline:
                for number in range(50):
                    pipeline.echo(f"{round_}-{number}" * 50)
                assert pipeline.execute() == [f"{round_}-{number}".encode() * 50 for number in range(50)]
