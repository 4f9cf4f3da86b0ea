"""The runs of a crawl that have ended: a bounded history, and each one's hook.

The script that ends a run adds a record to the stream ``<ns>:ended_runs`` in the same step. Workers are one consumer
group on it, so each record is handed to one of them; it is acknowledged when the hook has returned, and a record that
nobody has acknowledged for a lease goes to another worker, also one that starts later: at least once, normally once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from spiders_project.frontier.connection import translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    import redis
    import redis.asyncio

    from spiders_project.keys import Keys

#: All workers read as one consumer: who has a record is known by how long ago it was taken.
GROUP, CONSUMER = "hooks", "worker"


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended.

    Attributes:
        namespace: The crawl's namespace.
        run_id: The run's id.
        reason: ``finished`` or ``max_pages``.
        started_at: In unix seconds, by Redis's clock.
        ended_at: In unix seconds, by Redis's clock.
        done: Requests that were acked or became dead letters.
        pages: Requests that yielded an item.
        errors: Dead letters.
        left: Requests that wait for the next run, because this one had its pages.
    """

    namespace: str
    run_id: str
    reason: str
    started_at: float
    ended_at: float
    done: int
    pages: int
    errors: int
    left: int


def _run_of(namespace: str, record: Mapping[bytes, bytes]) -> EndedRun:
    return EndedRun(
        namespace=namespace,
        run_id=record[b"id"].decode(),
        reason=record[b"reason"].decode(),
        started_at=int(record[b"started_at"]) / 1000,
        ended_at=int(record[b"ended_at"]) / 1000,
        **{name: int(record[name.encode()]) for name in ("done", "pages", "errors", "left")},
    )


def ended_runs(client: redis.Redis, keys: Keys, count: int) -> list[EndedRun]:
    """The last ``count`` runs that have ended, the newest first; Redis keeps about 1,000.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    with translated():
        records: Any = client.xrevrange(keys.ended_runs, count=count)
    return [_run_of(keys.namespace, record) for _, record in records]


class Inbox:
    """One worker's share of the records whose hook has not run yet. Every method raises as ``ended_runs`` does."""

    def __init__(self, client: redis.asyncio.Redis, keys: Keys, lease_seconds: float) -> None:
        """A record that was taken and not acknowledged for ``lease_seconds`` may be taken by another worker."""
        self._client: Any = client  # redis-py's annotations speak of both its clients at once
        self._keys = keys
        self._has_group = False
        self._lease_ms = round(lease_seconds * 1000)

    async def take(self) -> tuple[str, EndedRun, int] | None:
        """One record (its id, the run, how often it was handed out) that nobody works on; None when there is none."""
        key = self._keys.ended_runs
        with translated():
            await self._make_group()
            try:
                claimed = await self._client.xautoclaim(key, GROUP, CONSUMER, self._lease_ms, count=1)
                fresh = await self._client.xreadgroup(GROUP, CONSUMER, {key: ">"}, count=1) if not claimed[1] else None
            except ResponseError as error:
                if "NOGROUP" not in str(error):
                    raise
                self._has_group = False  # the crawl was purged meanwhile
                return None
            for id_, record in claimed[1] or _records(fresh):
                if record:
                    pending = await self._client.xpending_range(key, GROUP, id_, id_, 1)
                    tries = int(pending[0]["times_delivered"]) if pending else 1
                    return id_.decode(), _run_of(self._keys.namespace, record), tries
        return None

    async def _make_group(self) -> None:
        if self._has_group:
            return
        try:
            # From the first record on, so that the end of a run before the first worker looked is not missed.
            await self._client.xgroup_create(self._keys.ended_runs, GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):  # another worker was faster
                raise
        self._has_group = True

    async def has_pending(self) -> bool:
        """Whether a record was taken and is not acknowledged yet."""
        with translated():
            summary = await self._client.xpending(self._keys.ended_runs, GROUP)
        return bool(summary["pending"])

    async def keep(self, record_id: str) -> None:
        """The hook is still at work: nobody else may take the record for another lease."""
        with translated():
            await self._client.xclaim(self._keys.ended_runs, GROUP, CONSUMER, 0, [record_id], justid=True)

    async def done(self, record_id: str) -> None:
        """The hook has returned."""
        with translated():
            await self._client.xack(self._keys.ended_runs, GROUP, record_id)


def _records(reply: Any) -> list[Any]:
    """What XREADGROUP gave of its one stream: RESP2 answers with a list, RESP3 with a map."""
    streams = reply.items() if isinstance(reply, dict) else reply or ()
    return [record for _, records in streams for record in records]
