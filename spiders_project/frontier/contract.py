"""What a frontier is: the words, the promises, and the one Protocol behind which an implementation stands.

The promises (an implementation keeps them at every moment, also when callers are killed between two calls):

* A request that was put is in the frontier until it is *acked* or has become a *dead letter*.
* The seen-mark of a fingerprint and its queued request appear together or not at all.
* A claimed request is leased to one worker. Nobody else gets it while that worker's heartbeat lives; when the
  heartbeat is gone the request returns to its old place in the queue.
* An ack, or anything else a worker says about a request that is not leased to it, changes nothing.
* A batch with a sequence number that was answered before is not carried out again; it is answered as before.
* Nothing is deleted because a worker starts, stops or dies.
* Priority goes first among the hosts that may be visited now; at equal priority hosts take turns; inside one
  host the first put is claimed first (or the last, with ``order="lifo"``).
* A host is handed out no more often than its limits allow, whoever asks.
* The crawl's end is decided once: no seed, no request (queued or leased) and nothing local to a worker, for
  ``max_idle_ms`` on end. It closes the *run*; the next request opens a new one. A run that has its pages ends when
  nobody works on it any more; what is queued waits for the next run.

All times are milliseconds by the frontier's own clock (Redis's ``TIME``), never a worker's.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one host allows; ``delay_ms`` between two starts, ``concurrency`` downloads at once (0: no limit)."""

    delay_ms: float = 0
    jitter: float = 0
    concurrency: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a worker's settings say of the crawl; sent with every batch, so that no worker's word is stale.

    Attributes:
        limits: For every host that is not in ``host_limits``.
        host_limits: By host, from ``DOWNLOAD_SLOTS``.
        order: ``fifo`` or ``lifo`` inside one host at equal priority.
        max_idle_ms: How long the crawl must have been empty to be finished.
        max_pages: The run ends after so many pages; what is left over waits for the next run. 0 for no limit.
        seeds_key: Where seeds are read.
        seeds_kind: ``list``, ``set`` or ``zset``.
        expire_ms: A fingerprint is known for at least so long (and at most twice as long), then the URL may be crawled
            again; 0: for ever.
    """

    limits: HostLimits = HostLimits()
    host_limits: Mapping[str, HostLimits] = field(default_factory=dict)
    order: str = "fifo"
    max_idle_ms: int = 5000
    max_pages: int = 0
    seeds_key: str = ""
    seeds_kind: str = "list"
    expire_ms: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """All that a worker has to say and to ask, in one call.

    Attributes:
        sequence: The worker's own counter; a batch sent again keeps its number.
        operations: In the order in which they happened: puts before the ack of their parent.
        want: How many requests to claim.
        held: Host → downloads of it that this worker holds (claimed, not ended).
        share: How many of them one host may have while another could be visited; 0: no bound.
        local: Requests that wait inside this worker because they cannot be written to the frontier.
    """

    sequence: int
    operations: Sequence[Operation] = ()
    want: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    share: int = 0
    local: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A request under this worker's lease.

    Attributes:
        booking: The time until which the host is booked by this claim; 0 for a host without delay. A late start
            shows it to ``book``.
        deliveries: How many workers died with it before.
    """

    request_id: str
    payload: bytes
    host: str
    booking: int = 0
    deliveries: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """A download that is about to start, and has no booking that still holds.

    Attributes:
        host: The host.
        booking: Of its claim or last grant: if nobody has booked the host since, it may start at once.
        slot: Whether it needs a concurrency slot of its own: what never was claimed (robots.txt, media).
        patience_ms: How long it would wait; where it must wait longer nothing is booked. 0: for ever.
        delay_ms: What the host asks for, as this worker knows it: its ``Slow`` may still be on its way.
        name: Tells it from all others, so that an ask that is made again gets the slot that it has.
    """

    host: str
    booking: int = 0
    slot: bool = False
    patience_ms: int = 0
    delay_ms: int = 0
    name: str = field(default_factory=lambda: secrets.token_hex(8), compare=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """When the download may start, in ms from now; ``slot_id`` names the slot it got, to be ``Left`` later.

    ``granted`` is False when the host has no free slot, or not in time; ask again after ``wait_ms``. ``booking`` is
    what it booked, to be shown when it starts late all the same.
    """

    wait_ms: int
    granted: bool = True
    slot_id: str = ""
    booking: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a batch brought.

    Attributes:
        claims: Requests to download now.
        dropped: Indexes into ``operations`` of puts whose fingerprint was known.
        seeds: Entries that wait in ``start_urls``; -1 where that key has another type than ``seeds_kind``; 0 while the
            run has its pages, since they are the next run's.
        open: Requests not yet acked, in the whole crawl; 0 while no run is open.
        next_ms: When the next host or delayed request is due, in ms from now; -1 when none waits.
        run: The id of the current run; empty before the first.
        ended: How often the crawl was found empty for ``max_idle_ms``, which ends the run when one is open; a worker
            closes when it grows after its start.
        lost: The frontier does not know this worker's last batch: it was declared dead, or a replica that lagged
            has taken over. Nothing of this batch was carried out. What the worker has put since its last acks
            may be gone, so whatever it has in hands must not be acked but given back.
        paused: Host → ms from now until it may be visited again, of those without a delay of which the worker holds
            downloads: its claims may be older than the pause.
    """

    claims: Sequence[Claim] = ()
    dropped: Sequence[int] = ()
    seeds: int = 0
    open: int = 0
    next_ms: int = -1
    run: str = ""
    ended: int = 0
    lost: bool = False
    paused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeedVerdict:
    """What became of one entry of ``start_urls``.

    Attributes:
        entry: The entry, byte for byte.
        puts: Its requests; none when it was rejected.
        rejected: What is kept of an entry that is no seed (JSON); empty for a good one.
        max_pages: The page limit that the seed sets for the run; 0 for none.
    """

    entry: bytes
    puts: Sequence[Put] = ()
    rejected: bytes = b""
    max_pages: int = 0


class Frontier(Protocol):
    """One worker's door to the shared frontier.

    Every method raises ``FrontierUnavailable`` when the frontier does not answer or cannot take writes for now
    (the caller waits and calls again with the same arguments), and ``FrontierError`` when it never will.
    """

    async def ping(self) -> None:
        """Nothing, once the frontier answers."""
        ...

    async def exchange(self, batch: Batch) -> Answer:
        """Carry out the operations in their order, then claim; all of it in one atomic step."""
        ...

    async def start(self, puts: Sequence[Put]) -> bool:
        """Put a spider's own start requests, once for a run; False when another worker has put them."""
        ...

    async def peek_seeds(self, count: int) -> Sequence[bytes]:
        """Up to ``count`` entries of ``start_urls``, the next ones first, left where they are."""
        ...

    async def take_seeds(self, verdicts: Sequence[SeedVerdict]) -> int:
        """Replace each entry by its request, or set it aside with its reason, in one atomic step.

        An entry that another worker has taken meanwhile is skipped. Returns how many requests were queued.
        """
        ...

    async def book(self, asks: Sequence[Ask]) -> Sequence[Grant]:
        """Book hosts for downloads that start now; one grant for each ask, in their order."""
        ...

    async def reconcile(self, held: Sequence[str]) -> Sequence[str]:
        """Give back every lease of this worker that is not in ``held``: its claim was answered, and never arrived.

        Returns the ids in ``held`` that are not leased to this worker (any more).
        """
        ...

    async def leave(self) -> None:
        """Give back what is still leased to this worker, and forget the worker."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
