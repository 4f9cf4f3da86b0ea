"""A crawl under test: the model or a real Redis behind the same few words, with a clock that the test moves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgpack
import redis
import redis.asyncio

from spiders_project.frontier import scripts
from spiders_project.frontier.contract import Answer, Batch, HostLimits, Operation, Put, Terms
from spiders_project.frontier.redis_frontier import RedisFrontier, packed_terms
from spiders_project.keys import Keys
from tests.conformance.model import ModelFrontier, Store

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from spiders_project.frontier.contract import Ask, Claim, Frontier, Grant, SeedVerdict

Result = TypeVar("Result")

NAMESPACE = "site"
CLOCK_KEY = "test:clock"
#: Put before a script, so that its `redis.call('TIME')` is the test's clock: the product has no hook for it.
CLOCK_LUA = f"""
local real = redis
local redis = setmetatable({{call = function(command, ...)
  if command ~= 'TIME' then return real.call(command, ...) end
  local ms = tonumber(real.call('GET', '{CLOCK_KEY}'))
  return {{string.format('%.0f', math.floor(ms / 1000)), string.format('%.0f', ms % 1000 * 1000)}}
end}}, {{__index = real}})
"""

FREE = HostLimits()


def put(host: str = "a", fingerprint: int | None = None, *, name: str = "", **changes: Any) -> Put:
    """A put; ``fingerprint`` None is a request that is not filtered."""
    mark = b"" if fingerprint is None else fingerprint.to_bytes(8, "big", signed=True)
    return Put(payload=(name or f"{host}/{fingerprint}").encode(), host=host, fingerprint=mark, **changes)


@dataclass
class Facts:
    """All that can be compared between two worlds, by value."""

    requests: dict[str, bytes]
    queues: dict[str, list[tuple[str, int]]]
    ready: list[str]
    waiting: dict[str, float]
    active: dict[str, int]
    delayed: dict[str, tuple[int, int, str]]
    leases: dict[str, dict[str, tuple[int, bool, str]]]
    leased: int
    workers: dict[str, int]
    dead: set[str]
    seen: int
    seeds: list[bytes]
    rejected: list[bytes]
    ended: int
    run: dict[str, Any]


@dataclass
class Worker:
    """One worker's door, blocking; it counts its batches."""

    world: World
    name: str
    frontier: Frontier
    version: str = "1"
    sequence: int = 0
    last: Batch = field(default_factory=lambda: Batch(0))

    def say(self, *operations: Operation, **wishes: Any) -> Answer:
        """A new batch."""
        self.sequence += 1
        self.last = Batch(self.sequence, operations, **wishes)
        return self.again()

    def again(self) -> Answer:
        """The last batch once more, as after a reply that was lost."""
        return self.world.run(self.frontier.exchange(self.last))

    def claim(self, want: int = 1, **wishes: Any) -> list[Claim]:
        return list(self.say(want=want, **wishes).claims)

    def names(self, want: int = 1, **wishes: Any) -> list[str]:
        """Payloads of what was claimed."""
        return [one.payload.decode() for one in self.claim(want, **wishes)]

    def start(self, *puts: Put) -> bool:
        return self.world.run(self.frontier.start(puts))

    def peek(self, count: int = 100) -> list[bytes]:
        return list(self.world.run(self.frontier.peek_seeds(count)))

    def take(self, *verdicts: SeedVerdict) -> int:
        return self.world.run(self.frontier.take_seeds(verdicts))

    def book(self, *asks: Ask) -> Sequence[Grant]:
        return self.world.run(self.frontier.book(asks))

    def reconcile(self, *held: str) -> list[str]:
        return list(self.world.run(self.frontier.reconcile(held)))

    def leave(self) -> None:
        self.world.run(self.frontier.leave())

    def beat(self, patience: int = 0, max_deliveries: int = 3) -> tuple[int, int, int]:
        return self.world.beat(self, patience, max_deliveries)

    @property
    def report(self) -> bytes:
        return json.dumps({"version": self.version, "node": "n", "job": "j", "counts": {}}).encode()


class World(Protocol):
    """A crawl, its workers, its clock."""

    now: int

    def run(self, call: Coroutine[Any, Any, Result]) -> Result: ...
    def advance(self, ms: int) -> None: ...
    def worker(self, name: str = "w", *, version: str = "1", **terms: Any) -> Worker: ...
    def beat(self, worker: Worker, patience: int, max_deliveries: int) -> tuple[int, int, int]: ...
    def push_seeds(self, *entries: bytes) -> None: ...
    def facts(self) -> Facts: ...


def terms_of(changes: Mapping[str, Any]) -> Terms:
    return Terms(**{"seeds_key": f"{NAMESPACE}:start_urls", **changes})


class ModelWorld:
    """A crawl in memory."""

    def __init__(self) -> None:
        self.store = Store()

    @property
    def now(self) -> int:
        return self.store.now

    def run(self, call: Coroutine[Any, Any, Result]) -> Result:
        try:
            call.send(None)
        except StopIteration as end:
            result: Result = end.value
            return result
        raise AssertionError("the model waits for nothing")

    def advance(self, ms: int) -> None:
        self.store.now += ms

    def worker(self, name: str = "w", *, version: str = "1", **terms: Any) -> Worker:
        frontier = ModelFrontier(self.store, name, terms_of(terms))
        worker = Worker(self, name, frontier, version)
        frontier.report = worker.report
        return worker

    def beat(self, worker: Worker, patience: int, max_deliveries: int) -> tuple[int, int, int]:
        assert isinstance(worker.frontier, ModelFrontier)
        return worker.frontier.beat(patience, max_deliveries)

    def push_seeds(self, *entries: bytes) -> None:
        self.store.seeds.extend(entries)

    def facts(self) -> Facts:
        store, run = self.store, self.store.run
        leases = {worker: held for worker, held in store.leases.items() if held}
        return Facts(
            requests=dict(store.requests),
            queues={host: [(id_, score) for score, id_ in queue] for host, queue in store.queues.items() if queue},
            ready=sorted(store.turns, key=lambda host: (store.queues[host][0][0], store.turns[host])),
            waiting=dict(store.waiting),
            active={host: count for host, count in store.active.items() if count},
            delayed=dict(store.delayed),
            leases={
                worker: {id_: (one.score, one.downloading, one.host) for id_, one in held.items() if id_[0] != "!"}
                for worker, held in leases.items()
            },
            leased=store.leased,
            workers=dict(store.beats),
            dead=set(store.dead),
            seen=len(store.seen) + len(store.seen_before),
            seeds=list(store.seeds),
            rejected=list(store.rejected),
            ended=store.ended,
            run=run_facts(run.open, run.pages, run.done, run.errors, run.max_pages) if run else {},
        )


def run_facts(still_open: bool, pages: int, done: int, errors: int, max_pages: int) -> dict[str, Any]:
    return {
        "open": bool(still_open),
        "pages": pages,
        "done": done,
        "errors": errors,
        "max_pages": max_pages,
    }


# One call for a whole look at the crawl, so that thousands of steps can be followed by one each.
LOOK_LUA = """
local function hash(key) return redis.call('HGETALL', key) end
local function zset(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
local function list(key) return redis.call('TYPE', key).ok == 'list' and redis.call('LRANGE', key, 0, -1) or {} end
local ns = ARGV[1]
local queues, leases, buckets = {}, {}, {}
for _, key in ipairs(redis.call('KEYS', ns .. ':*')) do
  if string.find(key, ns .. ':host:', 1, true) == 1 then queues[#queues + 1] = {string.sub(key, #ns + 7), zset(key)} end
  if string.find(key, ns .. ':leases:', 1, true) == 1 then
    leases[#leases + 1] = {string.sub(key, #ns + 9), hash(key)}
  end
  if string.find(key, ns .. ':seen:', 1, true) == 1 then
    buckets[#buckets + 1] = {redis.call('SCARD', key), redis.call('OBJECT', 'ENCODING', key)}
  end
end
return cmsgpack.pack({
  requests = hash(ns .. ':requests'), ready = zset(ns .. ':ready'), waiting = zset(ns .. ':waiting'),
  active = hash(ns .. ':active'), delayed = zset(ns .. ':delayed'), places = hash(ns .. ':delayed:places'),
  workers = zset(ns .. ':workers'), dead = redis.call('HKEYS', ns .. ':dead'), state = hash(ns .. ':state'),
  run = hash(ns .. ':run'), seen = hash(ns .. ':seen'), rejected = list(ns .. ':start_urls:rejected'),
  seeds = list(ns .. ':start_urls'),
  queues = queues, leases = leases, buckets = buckets})
"""


def pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


class RedisWorld:
    """A crawl on a real Redis."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.loop = loop
        self.client = redis.Redis.from_url(url)
        self.async_client = redis.asyncio.Redis.from_url(url)
        self.keys = Keys(NAMESPACE)
        self.reset()

    def reset(self) -> None:
        self.client.flushdb()
        self.now = 1_700_000_000_000
        self.client.set(CLOCK_KEY, self.now)
        self._kind = "list"

    def close(self) -> None:
        self.run(self.async_client.aclose())
        self.client.close()

    def run(self, call: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(call)

    def advance(self, ms: int) -> None:
        self.now += ms
        self.client.set(CLOCK_KEY, self.now)

    def worker(self, name: str = "w", *, version: str = "1", **terms: Any) -> Worker:
        frontier = RedisFrontier(self.async_client, self.keys, name, terms_of(terms))
        worker = Worker(self, name, frontier, version)
        frontier._report = lambda: worker.report
        self._kind = frontier.terms.seeds_kind
        return worker

    def beat(self, worker: Worker, patience: int, max_deliveries: int) -> tuple[int, int, int]:
        assert isinstance(worker.frontier, RedisFrontier)
        terms = packed_terms(worker.frontier.terms)
        arguments = (NAMESPACE, worker.name, terms, worker.report, patience, max_deliveries)
        returned, buried, gone = scripts.run_blocking(self.client, "heartbeat", self.keys.requests, arguments)  # type: ignore[misc]
        return returned, buried, gone

    def push_seeds(self, *entries: bytes) -> None:
        key: Any = self.keys.start_urls
        if self._kind == "set":
            self.client.sadd(key, *entries)
        elif self._kind == "zset":
            self.client.zadd(key, {entry: -index for index, entry in enumerate(entries)})
        else:
            self.client.rpush(key, *entries)

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = msgpack.unpackb(self.client.eval(LOOK_LUA, 0, NAMESPACE), raw=False)
        return found

    def facts(self) -> Facts:
        return self.facts_of(self.look())

    def facts_of(self, found: dict[str, Any]) -> Facts:
        places = pairs(found["places"])
        delayed = {}
        for id_, due in pairs(found["delayed"]).items():
            score, host = places.pop(id_).split(" ", 1)
            delayed[id_] = (int(due), int(score), host)
        assert not places, "a place without a delayed request"
        state, run, seen = pairs(found["state"]), pairs(found["run"]), pairs(found["seen"])
        return Facts(
            requests={id_: payload.encode() for id_, payload in pairs(found["requests"]).items()},
            queues={
                host: [(id_, int(score)) for id_, score in pairs(queue).items()] for host, queue in found["queues"]
            },
            ready=found["ready"][::2],
            waiting={host: float(until) for host, until in pairs(found["waiting"]).items()},
            active={host: int(count) for host, count in pairs(found["active"]).items()},
            delayed=delayed,
            leases={
                worker: {id_: self._lease(value) for id_, value in pairs(held).items() if id_[0] != "!"}
                for worker, held in found["leases"]
            },
            leased=int(state.get("leased", 0)),
            workers={worker: int(beat) for worker, beat in pairs(found["workers"]).items()},
            dead=set(found["dead"]),
            seen=int(seen.get("count", 0)) + int(seen.get("old_count", 0)),
            seeds=[one.encode() for one in found["seeds"]],
            rejected=[one.encode() for one in found["rejected"]],
            ended=int(state.get("ended", 0)),
            run=run_facts(
                *(int(run.get(name, 0)) for name in ("open", "pages", "done", "errors", "max_pages"))  # type: ignore[arg-type]
            )
            if "id" in run
            else {},
        )

    @staticmethod
    def _lease(value: str) -> tuple[int, bool, str]:
        score, downloading, host = value.split(" ", 2)
        return int(score), downloading == "1", host


def with_test_clock(source: Callable[[str], str]) -> Callable[[str], str]:
    """``scripts.source`` whose scripts see the test's clock."""
    return lambda name: CLOCK_LUA + source(name)
