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

from typing import TYPE_CHECKING, Protocol

from spiders_project.frontier.contract.calls import Answer, Ask, Batch, Claim, Grant, SeedVerdict
from spiders_project.frontier.contract.operations import (
    MAX_PRIORITY,
    Ack,
    Bury,
    GiveBack,
    Left,
    Operation,
    Pause,
    Put,
    Refuse,
    Slow,
)
from spiders_project.frontier.contract.terms import HostLimits, Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MAX_PRIORITY",
    "Ack",
    "Answer",
    "Ask",
    "Batch",
    "Bury",
    "Claim",
    "Frontier",
    "GiveBack",
    "Grant",
    "HostLimits",
    "Left",
    "Operation",
    "Pause",
    "Put",
    "Refuse",
    "SeedVerdict",
    "Slow",
    "Terms",
]


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
