"""The frontier on Redis: each operation of the contract is one script, so one atomic step."""

from __future__ import annotations

import random
import secrets
import time
from typing import TYPE_CHECKING, Any

import msgpack

from spiders_project.frontier import scripts
from spiders_project.frontier.connection import translated
from spiders_project.frontier.contract import (
    MAX_PRIORITY,
    Ack,
    Answer,
    Ask,
    Batch,
    Bury,
    Claim,
    GiveBack,
    Grant,
    Left,
    Operation,
    Pause,
    Put,
    Refuse,
    SeedVerdict,
    Slow,
    Terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import redis.asyncio

    from spiders_project.keys import Keys

RUN_ID_FORMAT = "%Y%m%dT%H%M%S"


def new_run_id() -> str:
    """An id for the run that the next request may open: UTC time, then chance; sorts by time."""
    return f"{time.strftime(RUN_ID_FORMAT, time.gmtime())}-{secrets.token_hex(3)}"


def pack(value: object) -> bytes:
    """Msgpack in the dialect of Redis's cmsgpack, which knows no separate type for bytes."""
    packed: bytes = msgpack.packb(value, use_bin_type=False, unicode_errors="surrogateescape")
    return packed


def packed_terms(terms: Terms) -> bytes:
    """``terms`` as ARGV[3] of every script wants them."""
    limits = terms.limits
    hosts = {host: (own.delay_ms, own.jitter, own.concurrency) for host, own in terms.host_limits.items()}
    return pack(
        (
            limits.delay_ms,
            limits.jitter,
            limits.concurrency,
            hosts,
            terms.order,
            terms.max_idle_ms,
            terms.max_pages,
            terms.seeds_key,
            terms.seeds_kind,
            random.getrandbits(31),  # jitter, not a secret
            new_run_id(),
            terms.expire_ms,
        )
    )


def _put(put: Put) -> tuple[bytes, str, int, str, bool, int]:
    # Signed, since Redis's integer sets hold signed 64-bit numbers.
    mark = str(int.from_bytes(put.fingerprint, "big", signed=True)) if put.fingerprint else ""
    priority = max(-MAX_PRIORITY, min(MAX_PRIORITY, put.priority))
    return put.payload, put.host, priority, mark, put.force, put.delay_ms


def _operation(operation: Operation) -> tuple[Any, ...]:  # noqa: PLR0911 - one return a kind
    match operation:
        case Put():
            return "p", *_put(operation)
        case Ack(request_id, pages):
            return "a", request_id, pages
        case Bury(request_id, letter):
            return "d", request_id, letter
        case Left(request_id):
            return "l", request_id
        case GiveBack(request_id):
            return "g", request_id
        case Refuse(request_id, letter, version):
            return "r", request_id, letter, version
        case Pause(host, pause_ms):
            return "w", host, pause_ms
        case Slow(host, delay_ms, first):
            return "s", host, delay_ms, first


class RedisFrontier:
    """The contract's ``Frontier`` for one worker, over redis-py's asyncio client."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        keys: Keys,
        worker: str,
        terms: Terms,
        report: Callable[[], bytes] = lambda: b"{}",
    ) -> None:
        """``report`` gives the worker's last JSON report, kept for tools when it leaves."""
        self.client = client
        self.keys = keys
        self.worker = worker
        self.terms = terms
        self._report = report

    async def _run(self, script: str, *arguments: bytes | str | int) -> Any:
        head = (self.keys.namespace, self.worker, packed_terms(self.terms))
        with translated():
            return await scripts.run(self.client, script, self.keys.requests, (*head, *arguments))

    async def ping(self) -> None:
        """See ``contract.Frontier``."""
        client: Any = self.client
        with translated():
            await client.ping()

    async def exchange(self, batch: Batch) -> Answer:
        """See ``contract.Frontier``."""
        operations = [_operation(one) for one in batch.operations]
        blob = pack((operations, batch.want, dict(batch.held), batch.share, batch.local))
        answer = msgpack.unpackb(await self._run("exchange", str(batch.sequence), blob), raw=True)
        claims, dropped, seeds, still_open, next_ms, run, ended, lost, paused = answer
        return Answer(
            claims=[
                Claim(id_.decode(), payload, host.decode("utf-8", "surrogateescape"), booking, deliveries)
                for id_, payload, host, booking, deliveries in claims
            ],
            dropped=dropped,
            seeds=seeds,
            open=still_open,
            next_ms=next_ms,
            run=run.decode(),
            ended=ended,
            lost=lost,
            paused={host.decode("utf-8", "surrogateescape"): ms for host, ms in paused},
        )

    async def start(self, puts: Sequence[Put]) -> bool:
        """See ``contract.Frontier``."""
        return bool(await self._run("start", pack([_put(put) for put in puts])))

    async def peek_seeds(self, count: int) -> Sequence[bytes]:
        """See ``contract.Frontier``."""
        key = self.terms.seeds_key
        client: Any = self.client  # redis-py's annotations speak of both its clients at once
        with translated():
            if self.terms.seeds_kind == "set":
                return list(await client.srandmember(key, count) or ())
            if self.terms.seeds_kind == "zset":
                return list(await client.zrevrange(key, 0, count - 1))
            return list(await client.lrange(key, 0, count - 1))

    async def take_seeds(self, verdicts: Sequence[SeedVerdict]) -> int:
        """See ``contract.Frontier``."""
        rows = [(one.entry, [_put(put) for put in one.puts], one.rejected or False, one.max_pages) for one in verdicts]
        return int(await self._run("seeds", pack(rows)))

    async def book(self, asks: Sequence[Ask]) -> Sequence[Grant]:
        """See ``contract.Frontier``."""
        blob = pack(
            [(ask.host, ask.booking, f"!{ask.name}" if ask.slot else "", ask.patience_ms, ask.delay_ms) for ask in asks]
        )
        grants = msgpack.unpackb(await self._run("book", blob), raw=False)
        return [Grant(*grant) for grant in grants]

    async def reconcile(self, held: Sequence[str]) -> Sequence[str]:
        """See ``contract.Frontier``."""
        missing: list[str] = msgpack.unpackb(await self._run("reconcile", pack(list(held))), raw=False)
        return missing

    async def leave(self) -> None:
        """See ``contract.Frontier``."""
        await self._run("leave", self._report())

    async def close(self) -> None:
        """See ``contract.Frontier``."""
        await self.client.aclose()
