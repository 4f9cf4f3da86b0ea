"""A read-only look at a crawl, for tools: counts, workers, the run. Knows neither Scrapy nor a reactor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spiders_project.frontier.connection import translated
from spiders_project.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    import redis

#: A worker is shown as gone when it was silent for two thirds of its lease (in seconds, where its report does not say).
DEFAULT_LEASE, PATIENCE = 15.0, 2 / 3


@dataclass(frozen=True)
class Worker:
    """One worker as its last heartbeat described it.

    Attributes:
        id: The worker's id in the frontier.
        node: The node's name (``NODE_NAME``).
        job: Scrapyd's job id, or empty for a worker started by hand.
        version: The egg's version, or empty.
        alive: Whether its heartbeat is fresh.
        seen_at: Time of the last heartbeat, in unix seconds by Redis's clock; 0 when it has left.
        leased: Requests it holds.
        counts: Since its start: ``acked`` requests, ``pages`` (requests that yielded an item), ``items``, ``errors``.
        storing: Crawled requests that wait for their items to be stored.
        held_for: How long the worker has had its oldest request in hands, in seconds.
        lease: Its lease period, in seconds.
        pid: Of its process on its node; 0 where its report does not say.
    """

    id: str
    node: str
    job: str
    version: str
    alive: bool
    seen_at: float
    leased: int
    counts: Mapping[str, int]
    storing: int = 0
    held_for: float = 0.0
    lease: float = DEFAULT_LEASE
    pid: int = 0


@dataclass(frozen=True)
class CrawlStatus:
    """One crawl at one moment.

    Attributes:
        state: ``none`` (no run yet), ``open`` or ``finished``; of the newest run.
        finish_reason: ``finished`` or ``max_pages``; None while open.
        started_at: Of the run, in unix seconds; None before the first run.
        ended_at: Of the run, in unix seconds; None while open.
        seeds: Entries that wait in ``start_urls``.
        rejected: Entries that were no seeds.
        queued: Requests that wait in a host's queue.
        delayed: Requests that wait for their time.
        leased: Requests that workers hold.
        dead: Dead letters.
        seen: Fingerprints known.
        done: Requests acked in this run, dead letters among them.
        pages: Requests of this run that yielded an item.
        workers: Those that live, and those that left, by id.
        at: When this was so, in unix seconds by Redis's clock.
    """

    namespace: str
    run_id: str
    state: str
    finish_reason: str | None
    started_at: float | None
    ended_at: float | None
    seeds: int
    rejected: int
    queued: int
    delayed: int
    leased: int
    dead: int
    seen: int
    done: int
    pages: int
    workers: tuple[Worker, ...]
    at: float = 0.0

    @property
    def seconds(self) -> float:
        """How long the run has lasted; 0 before the first."""
        return (self.ended_at or self.at) - self.started_at if self.started_at else 0.0

    @property
    def rate(self) -> float:
        """Requests done a second, since the run's start."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def requests(self) -> int:
        """Requests not yet acked."""
        return self.queued + self.delayed + self.leased

    @property
    def open(self) -> int:
        """Those of the run that is open; what a run left over that had its pages waits for the next one."""
        return self.requests if self.state == "open" else 0


def _text(value: bytes | None) -> str:
    return value.decode("utf-8", "replace") if value else ""


def _seconds(value: bytes | None) -> float | None:
    return int(value) / 1000 if value else None


def _length(client: redis.Redis, key: str) -> int:
    """The number of seeds, whichever type the key has."""
    kind: Any = client.type(key)
    if kind == b"none":
        return 0
    count = {b"list": client.llen, b"set": client.scard, b"zset": client.zcard}.get(kind)
    return int(count(key)) if count else 0


def _worker(worker: bytes, report: bytes, now: float, seen: bytes | float | None, leased: int) -> Worker:
    said = json.loads(report)
    seen_at = float(seen) / 1000 if seen else 0.0
    return Worker(
        id=_text(worker),
        node=said.get("node", ""),
        job=said.get("job", ""),
        version=said.get("version", ""),
        alive=bool(seen) and now - seen_at < said.get("lease", DEFAULT_LEASE) * PATIENCE,
        seen_at=seen_at,
        leased=leased,
        counts=said.get("counts", {}),
        storing=said.get("storing", 0),
        held_for=said.get("held_for", 0.0),
        lease=said.get("lease", DEFAULT_LEASE),
        pid=said.get("pid", 0),
    )


def crawl_status(client: redis.Redis, namespace: str, start_urls_key: str = "") -> CrawlStatus:
    """How the crawl in ``namespace`` stands.

    Args:
        client: A blocking client with ``decode_responses`` off.
        namespace: The crawl's namespace, by default the spider's name.
        start_urls_key: Where its seeds are, when not in ``<namespace>:start_urls``.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    keys = Keys(namespace, start_urls_key)
    with translated():
        # By a script, since Redis Cluster's client lets no TIME into a pipeline.
        time_: Any = client.eval("return redis.call('TIME')", 1, keys.requests)
        pipe = client.pipeline(transaction=False)  # a Redis at its maxmemory refuses transactions that only read
        pipe.hgetall(keys.run)
        pipe.hget(keys.state, "leased")
        pipe.hlen(keys.requests)
        pipe.zcard(keys.delayed)
        pipe.hlen(keys.dead)
        pipe.hmget(keys.seen, "count", "old_count")
        pipe.llen(keys.rejected)
        pipe.zrange(keys.workers, 0, -1, withscores=True)
        pipe.hgetall(keys.reports)
        run, leased_, total, delayed, dead, seen, rejected, beats, reports = pipe.execute()
        seeds = _length(client, keys.start_urls)
        pipe = client.pipeline(transaction=False)
        for worker in sorted(reports):
            pipe.hlen(keys.leases(_text(worker)))
        held = pipe.execute()
    now = int(time_[0]) + int(time_[1]) / 1e6
    leased = int(leased_ or 0)
    alive = dict(beats)
    return CrawlStatus(
        namespace=namespace,
        run_id=_text(run.get(b"id")),
        state=_text(run.get(b"state")) or "none",
        finish_reason=_text(run.get(b"reason")) or None,
        started_at=_seconds(run.get(b"started_at")),
        ended_at=_seconds(run.get(b"ended_at")),
        seeds=seeds,
        rejected=rejected,
        queued=max(0, total - delayed - leased),
        delayed=delayed,
        leased=leased,
        dead=dead,
        seen=sum(int(count or 0) for count in seen),
        done=int(run.get(b"done", 0)),
        pages=int(run.get(b"pages", 0)),
        workers=tuple(
            _worker(worker, report, now, alive.get(worker), count)
            for (worker, report), count in zip(sorted(reports.items()), held, strict=True)
        ),
        at=now,
    )
