"""Why a crawl that has work may make no progress (F5), for ``scrapy frontier status`` and the watchdog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from math import inf
from typing import TYPE_CHECKING, Any

from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.connection import translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

    from spiders_project.frontier.inspect import CrawlStatus, Worker
    from spiders_project.keys import Keys

#: A wait until the next host that is shorter is ordinary politeness, in seconds.
POLITE = 5.0
#: A request that is in hands for less is ordinary work, in seconds.
PATIENCE = 60.0
_NAMED = 3  # hosts named in one line
_LOOKED_AT = 100  # paused hosts looked at


@dataclass(frozen=True)
class Blocker:
    """One likely cause: ``redis``, ``workers``, ``paused``, ``hosts``, ``delayed``, ``storage`` or ``leases``."""

    cause: str
    text: str


def blockers(client: redis.Redis, keys: Keys, status: CrawlStatus, patience: float = PATIENCE) -> list[Blocker]:
    """What keeps the crawl that ``status`` describes from making progress; empty when it has no work, or goes on.

    Args:
        client: A blocking client with ``decode_responses`` off.
        keys: The crawl's keys.
        status: The crawl as it stands.
        patience: How long a request may be in a worker's hands, in seconds.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    if not status.open and not status.seeds:
        return []
    found = [*_redis(client)]
    if not any(worker.alive for worker in status.workers):
        found.append(Blocker("workers", "work waits and no worker is alive"))
    found += [*_hosts(client, keys, status)]
    if status.delayed and not status.queued and not status.leased:
        with translated():
            first: Any = client.zrange(keys.delayed, 0, 0, withscores=True)
        if first and (wait := first[0][1] / 1000 - status.at) > POLITE:
            text = f"every request waits for its time (retries, not_before), the first {_until(first[0][1], wait)}"
            found.append(Blocker("delayed", text))
    found += [blocker for worker in status.workers if (blocker := _worker(worker, status.at, patience))]
    return found


def _redis(client: redis.Redis) -> Iterator[Blocker]:
    """Whether Redis takes writes, as far as this user may know."""
    try:
        with translated():
            info: Any = client.info()
    except FrontierUnavailable:
        raise
    except FrontierError:
        return  # an ACL without INFO
    most = info.get("maxmemory", 0)
    if most and info["used_memory"] >= most and info.get("maxmemory_policy") == "noeviction":
        yield Blocker("redis", f"Redis takes no writes: it is at its maxmemory of {most / 2**20:.0f} MiB")
    if info.get("role") == "slave":
        yield Blocker("redis", "Redis takes no writes: it is a replica")
    if info.get("rdb_last_bgsave_status") == "err" or info.get("aof_last_write_status") == "err":
        yield Blocker("redis", "Redis may take no writes: it could not save to its disk")


def _hosts(client: redis.Redis, keys: Keys, status: CrawlStatus) -> Iterator[Blocker]:
    now_ms = status.at * 1000
    with translated():
        ready: Any = client.zcard(keys.ready)
        paused: Any = client.zrangebyscore(keys.waiting, inf, inf, start=0, num=_LOOKED_AT)
        due: Any = client.zrangebyscore(keys.waiting, "-inf", f"({inf}", start=0, num=_LOOKED_AT, withscores=True)
        full = _with_queue(client, keys, paused)
    if full:
        more = f" and {len(full) - _NAMED} more" if len(full) > _NAMED else ""
        names = ", ".join(name.decode("utf-8", "replace") for name in full[:_NAMED])
        yield Blocker("paused", f"paused by an operator: {names}{more} (scrapy frontier resume HOST SPIDER)")
    if ready or not status.queued:
        return
    queued = {*_with_queue(client, keys, [name for name, _ in due])}
    first = next(((name, until) for name, until in due if name in queued), None)
    if first and (wait := (first[1] - now_ms) / 1000) > POLITE:
        host = first[0].decode("utf-8", "replace")
        yield Blocker("hosts", f"every host is blocked, the first ({host}) {_until(first[1], wait)}")


def _with_queue(client: redis.Redis, keys: Keys, names: list[bytes]) -> list[bytes]:
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.exists(keys.host("").encode() + name)
    return [name for name, exists in zip(names, pipe.execute(), strict=True) if exists]


def _worker(worker: Worker, now: float, patience: float) -> Blocker | None:
    if not worker.leased:
        return None
    if not worker.alive:
        text = f"worker {worker.id} holds {worker.leased:,} requests and is silent for {now - worker.seen_at:.0f} s"
        return Blocker("leases", text)
    if worker.held_for < patience:
        return None
    if worker.storing:
        text = (
            f"worker {worker.id} waits for MongoDB: {worker.storing:,} crawled requests wait for their items to be "
            f"stored, the oldest for {worker.held_for:.0f} s"
        )
        return Blocker("storage", text)
    text = f"worker {worker.id} holds {worker.leased:,} requests, the oldest for {worker.held_for:.0f} s"
    return Blocker("leases", text)


def _until(milliseconds: float, wait: float) -> str:
    return f"until {datetime.fromtimestamp(milliseconds / 1000, timezone.utc):%H:%M:%S}Z (in {wait:.0f} s)"
