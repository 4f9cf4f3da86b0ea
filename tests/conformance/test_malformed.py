"""A script that is called with something malformed, or meets a key of the wrong type, does nothing at all.

Redis rolls nothing back: half of a put would be a mark of a page that nobody ever visits (I2).
"""

from __future__ import annotations

import random
from typing import Any

import msgpack
import pytest
import redis

from spiders_project.frontier import scripts
from spiders_project.frontier.contract import Ack, Ask, HostLimits
from spiders_project.frontier.redis_frontier import pack, packed_terms
from tests.conformance.test_machine import check
from tests.conformance.world import NAMESPACE, RedisWorld, put, terms_of

PUT = ["payload", "b", 0, "77", False, 0]
DELAYED = ["payload", "b", 0, "78", True, 5]

#: For each script, a call that writes: its arguments behind the terms, and what they are before they are packed.
CALLS: dict[str, list[Any]] = {
    "exchange": [
        "3",
        [
            [
                ["p", *PUT],
                ["p", *DELAYED],
                ["a", "0000000001", 1],
                ["d", "0000000002", "{}"],
                ["l", "0000000003"],
                ["g", "0000000004"],
                ["r", "0000000005", "{}", "1"],
                ["w", "b", 9],
                ["s", "b", 9, True],
            ],
            3,
            {"a": 1},
            1,
            0,
        ],
    ],
    "start": [[PUT, DELAYED]],
    "seeds": [[["one", [PUT], False, 0], ["two", [], "{}", 5]]],
    "book": [[["a", 0, "", 0, 0], ["b", 5, "!name", 9, 9]]],
    "retry": [[["0000000006", "payload", "b", 3]]],
    "reseed": [[["{}", "entry"]]],
    "import": [
        [
            ["request", "payload", "b", 0, "79", 0],
            ["dead", "80", "{}", "payload", 5],
            ["seed", "81", "entry", 0],
            ["rejected", "82", "{}"],
            ["seen", "83", "84"],
        ]
    ],
    "reconcile": [["0000000003"]],
}
WRONG: tuple[Any, ...] = (None, {"a": "table"}, [], True, 3, "text", float("nan"), float("inf"))


def run(world: RedisWorld, script: str, arguments: list[Any], terms: bytes) -> Any:
    packed = [one if isinstance(one, str) else pack(one) for one in arguments]
    return scripts.run_blocking(world.client, script, world.keys.requests, (NAMESPACE, "w", terms, *packed))


READ_LUA = """
local readers = {hash = {'HGETALL'}, zset = {'ZRANGE', 0, -1, 'WITHSCORES'}, list = {'LRANGE', 0, -1},
                 set = {'SMEMBERS'}, string = {'GET'}, stream = {'XRANGE', '-', '+'}}
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local reader = readers[redis.call('TYPE', key).ok]
  found[key] = redis.call(reader[1], key, unpack(reader, 2))
end
return cmsgpack.pack(found)
"""


def dump(world: RedisWorld) -> dict[bytes, Any]:
    """All that Redis holds, by value."""
    found: dict[bytes, Any] = msgpack.unpackb(world.client.eval(READ_LUA, 0), raw=True)  # type: ignore[arg-type]
    hashes = {key for key in found if world.client.type(key) == b"hash"}
    return {
        key: sorted(zip(value[::2], value[1::2], strict=True)) if key in hashes else value
        for key, value in found.items()
    }


def restore(world: RedisWorld, saved: dict[bytes, bytes]) -> None:
    world.client.flushdb()
    for key, value in saved.items():
        world.client.restore(key, 0, value)


@pytest.fixture
def busy(redis_world: RedisWorld) -> RedisWorld:
    """A crawl that has something of everything, for calls that would all write."""
    worker = redis_world.worker(limits=HostLimits(concurrency=9))
    worker.beat()
    worker.say(*(put("a", number) for number in range(9)), put("c", 20, delay_ms=5), want=6)
    worker.claim(6)
    redis_world.push_seeds(b"one", b"two")
    redis_world.client.rpush(redis_world.keys.rejected, "{}")
    redis_world.client.hset(redis_world.keys.dead, "0000000006", "x")
    redis_world.advance(10)
    return redis_world


def places(value: Any) -> list[tuple[Any, ...]]:
    """Where a nested list or dictionary has values: the way to each."""
    if not isinstance(value, list | dict):
        return [()]
    keys = range(len(value)) if isinstance(value, list) else value
    return [(key, *rest) for key in keys for rest in [(), *places(value[key])]]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copied = value.copy()
    copied[place[0]] = replaced(value[place[0]], place[1:], new)
    return copied


@pytest.mark.parametrize("script", CALLS)
def test_a_call_as_it_should_be_writes(busy: RedisWorld, script: str):
    """Or the test below would prove nothing."""
    before = dump(busy)
    run(busy, script, CALLS[script], packed_terms(terms_of({})))
    assert dump(busy) != before


@pytest.mark.parametrize("script", CALLS)
def test_a_malformed_argument_is_refused_before_the_first_write(busy: RedisWorld, script: str):
    arguments, terms = CALLS[script], packed_terms(terms_of({}))
    before, refused = dump(busy), 0
    saved = {key: busy.client.dump(key) for key in busy.client.scan_iter()}
    packed = [index for index, one in enumerate(arguments) if isinstance(one, list)]
    ways = [(index, *way) for index in packed for way in places(arguments[index])]
    for way in sorted(set(ways), key=str):
        for wrong in WRONG:
            error = error_of(busy, script, replaced(arguments, way, wrong), terms)
            if error:
                refused += 1
                assert dump(busy) == before, f"{way} = {wrong!r}: half done ({error})"
            else:  # it fits as well
                restore(busy, saved)  # type: ignore[arg-type]
    assert refused > 5


def error_of(world: RedisWorld, script: str, arguments: list[Any], terms: bytes) -> str:
    try:
        run(world, script, arguments, terms)
    except redis.ResponseError as error:
        return str(error)
    return ""


ODD_NUMBERS = ("", "soon", "nan", "-inf")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        *(("pause", ["a", odd]) for odd in ODD_NUMBERS),
        *(("walk", [odd, "5"]) for odd in (*ODD_NUMBERS, "inf")),
        *(("walk", ["1", odd]) for odd in (*ODD_NUMBERS, "inf")),
        *(("hosts", [odd]) for odd in ([3], [["a"]], 3, "a", ["a", None, "b"])),
    ],
)
def test_what_tools_ask_for_is_looked_at_before_it_is_done(busy: RedisWorld, script: str, arguments: list[Any]):
    before = dump(busy)
    packed = [pack(one) for one in arguments] if script == "hosts" else arguments
    terms = packed_terms(terms_of({}))
    with pytest.raises(redis.ResponseError, match="MALFORMED"):
        scripts.run_blocking(busy.client, script, busy.keys.requests, (NAMESPACE, "w", terms, *packed))
    assert dump(busy) == before


@pytest.mark.parametrize("script", ["pause", "leave", "hosts"])
def test_tools_name_the_queue_that_is_none(busy: RedisWorld, script: str):
    """What leads to a host's queue looks at it first; ``busy`` holds leases of that host."""
    busy.client.set("site:host:a", "oops")
    before = dump(busy)
    arguments = {"pause": ("a", "0"), "leave": ("{}",), "hosts": (pack(["c", "a"]),)}[script]
    head = (NAMESPACE, "w", packed_terms(terms_of({})))
    with pytest.raises(redis.ResponseError, match="WRONGTYPE site:host:a is a string"):
        scripts.run_blocking(busy.client, script, busy.keys.requests, (*head, *arguments))
    assert dump(busy) == before


@pytest.mark.parametrize("place", range(12))
def test_malformed_terms_are_refused_before_the_first_write(busy: RedisWorld, place: int):
    terms = msgpack.unpackb(packed_terms(terms_of({"host_limits": {"a": HostLimits()}})), raw=True)
    before = dump(busy)
    for wrong in (None, {"a": 1}, float("nan")):
        terms[place] = wrong
        with pytest.raises(redis.ResponseError, match="MALFORMED"):
            run(busy, "start", CALLS["start"], pack(terms))
    assert dump(busy) == before


def test_what_cannot_be_unpacked_is_refused(busy: RedisWorld):
    before = dump(busy)
    for script, arguments in CALLS.items():
        for garbage in (b"\xc1", b"", random.Random(1).randbytes(50)):
            with pytest.raises(redis.ResponseError):
                scripts.run_blocking(
                    busy.client,
                    script,
                    busy.keys.requests,
                    (NAMESPACE, "w", packed_terms(terms_of({})), *("3" for one in arguments[:-1]), garbage),
                )
    assert dump(busy) == before


OWN_KEYS = (
    *("requests", "ready", "waiting", "active", "state", "run", "deliveries", "dead", "local", "workers", "seen"),
    *("delayed", "delayed:places", "leases:w", "refused", "replies", "reports", "hungry", "ended_runs", "delays"),
    *("start_urls:rejected", "host:b", "seen:0"),
)


@pytest.mark.parametrize("name", OWN_KEYS)
@pytest.mark.parametrize("script", CALLS)
def test_a_key_of_the_wrong_type_is_named_and_nothing_is_half_done(busy: RedisWorld, name: str, script: str):
    busy.client.set(f"site:{name}", "oops")
    before = dump(busy)
    touches_none = {"host:b": {"reseed", "reconcile"}, "seen:0": {"retry", "reseed", "reconcile", "book"}}
    if script in touches_none.get(name, ()):
        run(busy, script, CALLS[script], packed_terms(terms_of({})))
        return
    with pytest.raises(redis.ResponseError, match=f"WRONGTYPE site:{name} is a string") as caught:
        run(busy, script, CALLS[script], packed_terms(terms_of({})))
    assert "and should be a" in str(caught.value)
    assert dump(busy) == before


@pytest.mark.parametrize("name", ["host:a", "leases:gone"])
def test_a_heartbeat_that_meets_a_key_of_the_wrong_type_reaps_nothing(busy: RedisWorld, name: str):
    judge, gone = busy.worker("judge"), busy.worker("gone")
    gone.beat()
    for _ in range(4):
        judge.beat(10_000)
        busy.advance(2500)
    busy.client.set(f"site:{name}", "oops")
    before = dump(busy)
    with pytest.raises(redis.ResponseError, match=f"WRONGTYPE site:{name} is a string"):
        judge.beat(10_000)
    assert dump(busy) == before


def test_a_queue_of_the_wrong_type_ends_the_claims_and_says_so_after_the_rest_is_remembered(redis_world: RedisWorld):
    worker = redis_world.worker()
    (claim,) = worker.say(put("a", 1), put("b", 2), put("c", 3), want=1).claims
    payload = redis_world.client.dump("site:host:b")
    redis_world.client.set("site:host:b", "oops")
    with pytest.raises(Exception, match="WRONGTYPE site:host:b is a string"):
        worker.say(Ack(claim.request_id, 1), put("c", 4), want=5)
    assert redis_world.client.hget(redis_world.keys.run, "pages") == b"1"
    redis_world.client.delete("site:host:b")
    redis_world.client.restore("site:host:b", 0, payload)
    assert worker.again().open == 3, "carried out once"
    worker.claim(5)
    assert len(redis_world.facts().leases["w"]) == 3
    check(redis_world.facts(), redis_world.look(), {})


def test_a_slot_and_an_unreadable_report_harm_no_refusal(redis_world: RedisWorld):
    worker, other = redis_world.worker(version="1"), redis_world.worker("other", version="2")
    worker.beat()
    other.beat()
    redis_world.client.hset(redis_world.keys.reports, "other", "{no json")
    worker.book(Ask("a", slot=True))
    (claim,) = worker.say(put("a", 1), want=1).claims
    run(redis_world, "exchange", ["2", [[["r", claim.request_id, "{}", "1"]], 0, {}, 0, 0]], packed_terms(terms_of({})))
    assert redis_world.facts().dead == {claim.request_id}
