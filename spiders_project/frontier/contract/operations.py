"""What a worker says to the frontier."""

from __future__ import annotations

from dataclasses import dataclass

#: The highest priority, and minus the lowest: what goes beyond counts as this, so that it sorts exactly in a double.
MAX_PRIORITY = 2**20 - 1


@dataclass(frozen=True, slots=True)
class Put:
    """A request to queue.

    Attributes:
        payload: The encoded request (``frontier.codec``).
        host: The politeness unit it belongs to.
        priority: Higher goes first.
        fingerprint: 8 bytes of the request's fingerprint, or empty for a request that is neither tested nor
            marked (``dont_filter``).
        force: Queue it even when the fingerprint is known; mark it all the same (a seed).
        delay_ms: It may be claimed only after so long: a retry, or a request that is to be crawled later.
    """

    payload: bytes
    host: str
    priority: int = 0
    fingerprint: bytes = b""
    force: bool = False
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class Ack:
    """A request that is done; ``pages`` is 1 when its callback yielded an item, else 0."""

    request_id: str
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Bury:
    """A request that was given up; ``letter`` is the JSON that is kept beside its payload."""

    request_id: str
    letter: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """A request whose download has ended: its host's concurrency slot is free again, long before the ack."""

    request_id: str


@dataclass(frozen=True, slots=True)
class GiveBack:
    """A request that was claimed and never started; it returns to its old place."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A request that this worker's version cannot read.

    It is for workers of a version that has not refused it yet; a dead letter when none of those is alive.
    """

    request_id: str
    letter: bytes
    version: str


@dataclass(frozen=True, slots=True)
class Pause:
    """A host that wants to be left alone for ``pause_ms`` (429, 503, Retry-After), by the whole cluster."""

    host: str
    pause_ms: int


@dataclass(frozen=True, slots=True)
class Slow:
    """A host that asks for ``delay_ms`` between two starts (Crawl-delay, AutoThrottle), from the whole cluster.

    It counts where the terms ask for less, until the next word; 0 takes it back. With ``first`` only where the host has
    asked for nothing yet.
    """

    host: str
    delay_ms: int
    first: bool = False


Operation = Put | Ack | Bury | Left | GiveBack | Refuse | Pause | Slow
