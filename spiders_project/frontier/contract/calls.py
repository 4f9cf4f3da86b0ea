"""What goes in and out of the frontier's calls, and is no operation by itself."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spiders_project.frontier.contract.operations import Operation, Put


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
