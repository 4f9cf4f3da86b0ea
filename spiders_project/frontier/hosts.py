"""The hosts of a crawl: how many requests each has, when it may be visited, and whether an operator paused it."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import msgpack

from spiders_project.frontier.connection import translated
from spiders_project.frontier.redis_frontier import pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spiders_project.frontier.crawl import Crawl

#: Hosts asked about in one round trip.
BATCH = 500


@dataclass(frozen=True)
class Host:
    """One host at one moment.

    Attributes:
        name: The host.
        queued: Requests that wait in its queue.
        downloading: Downloads under way, in the whole cluster.
        next_at: The unix time (s, Redis's clock) before which it is not visited; 0 when it may be visited now.
        paused: Whether an operator paused it until it is resumed.
    """

    name: str
    queued: int
    downloading: int
    next_at: float
    paused: bool


@dataclass(frozen=True)
class Paused:
    """What ``pause`` and ``resume`` found: requests in the host's queue, and whether it was held before."""

    queued: int
    was_held: bool


def hosts(crawl: Crawl) -> Iterator[Host]:
    """Every host that has requests, downloads or a pause; in no order, a bounded number in each call to Redis.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    now = crawl.now()
    names = _names(crawl)
    while batch := list(islice(names, BATCH)):
        for host in _look(crawl, batch, now):
            if host.queued or host.downloading or host.paused:
                yield host


def busiest(crawl: Crawl, count: int) -> list[Host]:
    """The hosts with the most requests, the most first."""
    return nlargest(count, hosts(crawl), key=lambda host: (host.queued, host.downloading, host.name))


def pause(crawl: Crawl, host: str, seconds: float = inf) -> Paused:
    """Let no worker start a request of ``host`` for ``seconds`` (or until ``resume``); what is handed out ends."""
    return _pause(crawl, host, "inf" if seconds == inf else str(max(1, round(seconds * 1000))))


def resume(crawl: Crawl, host: str) -> Paused:
    """Let ``host`` be visited again, one delay from now, whoever had it held."""
    return _pause(crawl, host, "0")


def _pause(crawl: Crawl, host: str, milliseconds: str) -> Paused:
    queued, held = crawl.run("pause", host, milliseconds)
    return Paused(queued, bool(held))


def _names(crawl: Crawl) -> Iterator[bytes]:
    """A host with requests is ready, waits for its time, or is at its concurrency limit."""
    client, keys = crawl.client, crawl.keys
    told: set[bytes] = set()
    with translated():
        scans: tuple[Iterator[Any], ...] = (
            client.zscan_iter(keys.ready, count=BATCH),
            client.zscan_iter(keys.waiting, count=BATCH),
            client.hscan_iter(keys.active, count=BATCH),
        )
        for scan in scans:
            for name, _ in scan:
                if name not in told:
                    told.add(name)
                    yield name


def _look(crawl: Crawl, names: list[bytes], now: float) -> Iterator[Host]:
    answers = msgpack.unpackb(crawl.run("hosts", pack(names)))
    for name, (queued, downloading, until) in zip(names, answers, strict=True):
        held = float(until or 0) / 1000
        yield Host(
            name=name.decode("utf-8", "replace"),
            queued=queued,
            downloading=downloading,
            next_at=held if now < held < inf else 0.0,
            paused=held == inf,
        )
