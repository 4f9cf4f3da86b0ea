"""A worker's side of the frontier: what it has to say gathers here, and goes out in few calls.

One call carries puts, acks and the wish for more, about every ``flush_seconds`` while there is something to say, or
as soon as ``batch_size`` operations have gathered. Claims come into a small buffer that is filled in the background.
Redis away: the batch under way is sent again with the same number until it is answered, so nothing is lost and
nothing is done twice; meanwhile no claims arrive, so the worker runs dry by itself, and ``room`` holds up what yields
requests without a claim (``start()``), so memory stays bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from spiders_project.frontier.contract import Ack, Batch, Bury, GiveBack, Left, Pause, Put, Refuse, Slow
from spiders_project.frontier.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spiders_project.frontier.contract import Answer, Claim, Frontier, Operation

logger = logging.getLogger(__name__)

Context = TypeVar("Context")
Context_contra = TypeVar("Context_contra", contravariant=True)

#: Between two looks at a frontier that has nothing to give: doubled from the first to the second, in seconds.
IDLE_FIRST, IDLE_MOST = 0.02, 0.5
#: Between two comparisons of what Redis and this worker hold; a claim whose answer was lost comes back by it.
RECONCILE_SECONDS = 15.0
#: With so many bytes or operations unsaid the worker claims nothing and takes nothing from ``start()``.
MOST_UNSAID_BYTES, MOST_UNSAID = 16 * 2**20, 10_000
#: An ack is late when it has waited for so many times ``flush_seconds``.
LATE = 2


class Worker(Protocol[Context_contra]):
    """Whom an exchange works for: asked before each call, told after it."""

    def held(self) -> Iterable[str]:
        """Ids of what is in hands: requests under way, and slots of other downloads."""

    def by_host(self) -> Mapping[str, int]:
        """Host → its downloads that this worker holds."""

    def local(self) -> int:
        """Requests that wait inside this worker because they cannot be written to the frontier."""

    def took(self, claim: Claim, asked_at: float) -> None:
        """A claim came into the buffer; it was asked for at ``asked_at`` (the loop's clock)."""

    def forgot(self, claim: Claim) -> None:
        """A claim left the buffer unstarted."""

    def speaks(self) -> None:
        """A call is made: nothing that was said waits for company any more."""

    def answered(self, answer: Answer, asked_at: float) -> None:
        """A call was answered that was made at ``asked_at``; claims are in the buffer."""

    def dropped(self, context: Context_contra) -> None:
        """A put was dropped, its fingerprint was known."""

    def lost(self) -> None:
        """The frontier has forgotten this worker's last words: what is in hands must not be acked."""

    async def read_seeds(self, answer: Answer) -> bool:
        """Move seeds if there are some; answers whether it did, so that claims may follow."""


class Exchange(Generic[Context]):
    """Batches of one worker. ``Context`` is what the worker wants back with a put that was dropped."""

    def __init__(
        self,
        frontier: Frontier,
        worker: Worker[Context],
        *,
        batch_size: int,
        flush_seconds: float,
        prefetch: int,
        share: int,
    ) -> None:
        """Nothing is sent before ``run``.

        Args:
            frontier: The worker's door to the frontier.
            worker: Whom this works for.
            batch_size: Operations that go out at once, and the most in one call.
            flush_seconds: How long an operation waits for company.
            prefetch: How many claims the buffer holds.
            share: How many downloads of one host the worker holds while another host could be visited.
        """
        self._frontier = frontier
        self._worker = worker
        self._batch_size = batch_size
        self._flush = flush_seconds
        self._prefetch = prefetch
        self._share = share
        self.claimed: deque[Claim] = deque()
        self._outbox: deque[tuple[Operation, Context | None]] = deque()
        self._under_way: tuple[Batch, list[Context | None], float] | None = None
        self._sequence = 0
        self._idle = IDLE_FIRST
        self._due = 0.0
        self._done_since: float | None = None  # when the first ack was said since the outbox was empty
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._taking = True
        self._unsaid_bytes = 0  # of payloads in the outbox
        self._room = asyncio.Event()
        self._room.set()

    def say(self, operation: Operation, context: Context | None = None) -> None:
        """Send ``operation`` with one of the next batches, after all that was said before."""
        if isinstance(operation, Pause):
            self._outbox.appendleft((operation, context))  # before anything is claimed
        else:
            self._outbox.append((operation, context))
        if isinstance(operation, Put):
            self._unsaid_bytes += len(operation.payload)
            if self._is_full:
                self._room.clear()
        elif self._done_since is None and isinstance(operation, Ack):
            self._done_since = asyncio.get_running_loop().time()
        if self._waiter is not None:
            self._due_in(0.0 if len(self._outbox) >= self._batch_size else self._flush)

    def hungry(self) -> None:
        """The buffer was tapped: fill it soon."""
        if self._waiter is not None and len(self.claimed) <= self._prefetch // 2:
            self._due_in(self._flush)

    @property
    def unsent(self) -> int:
        """Operations that Redis has not answered yet."""
        return len(self._outbox) + (len(self._under_way[0].operations) if self._under_way else 0)

    @property
    def is_late(self) -> bool:
        """Whether acks wait for longer than they should: the loop is busy, or Redis is slow or away.

        It stays so until all that was said is on its way. Ended with the ack that was late, it would let a busy loop
        begin as much again behind each batch (twice as many pages are fetched again after a kill).
        """
        since = self._done_since
        return since is not None and asyncio.get_running_loop().time() - since > LATE * self._flush

    @property
    def _is_full(self) -> bool:
        return self._unsaid_bytes > MOST_UNSAID_BYTES or len(self._outbox) > MOST_UNSAID

    async def room(self) -> None:
        """Return when there is room for more that is said without a claim; also when the worker closes."""
        await self._room.wait()

    # ------------------------------------------------------------------ the loop

    async def run(self) -> None:
        """Exchange until ``close``.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        loop = asyncio.get_running_loop()
        reconciled = loop.time()
        while not self._closing:
            if loop.time() - reconciled > RECONCILE_SECONDS:
                await self.reconcile()
                reconciled = loop.time()
            answer = await self._exchange(self._wanted)
            if answer.claims and not self._taking:
                self.give_back_unstarted()
            if answer.claims:
                self._idle = IDLE_FIRST
            if not await self._worker.read_seeds(answer):
                await self._pause(answer)

    @property
    def _wanted(self) -> int:
        return self._prefetch - len(self.claimed) if self._taking and not self._is_full else 0

    async def _exchange(self, want: int) -> Answer:
        # A batch that was cut off on its way (the run was cancelled) goes out again under its own number.
        if self._under_way is None:
            self._under_way = (*self._next_batch(want), asyncio.get_running_loop().time())
        batch, contexts, asked_at = self._under_way
        self._worker.speaks()
        answer = await patiently(lambda: self._frontier.exchange(batch))
        self._under_way = None
        if answer.lost:
            await self._recover(list(zip(batch.operations, contexts, strict=True)))
            return answer
        for claim in answer.claims:
            self.claimed.append(claim)
            self._worker.took(claim, asked_at)
        for index in answer.dropped:
            context = contexts[index]
            if context is not None:
                self._worker.dropped(context)
        self._worker.answered(answer, asked_at)
        return answer

    async def _recover(self, unsaid: list[tuple[Operation, Context | None]]) -> None:
        """The frontier has lost what this worker said last, maybe puts whose parent it would ack now: say it anew.

        Nothing that is in hands may be acked any more; it goes back, and is done again by whoever claims it.
        """
        logger.warning(
            "Redis does not know what this worker said last (fail-over, restart, or it was taken for dead): "
            "its requests go back to the queue and are done again"
        )
        self._worker.lost()
        while self.claimed:
            self._worker.forgot(self.claimed.popleft())
        for operation, context in reversed(unsaid):
            self._outbox.appendleft((operation, context))
        self._unsaid_bytes += sum(len(one.payload) for one, _ in unsaid if isinstance(one, Put))
        for index, (operation, context) in enumerate(self._outbox):
            if isinstance(operation, Ack | Bury | Refuse):
                self._outbox[index] = (GiveBack(operation.request_id), context)
        await self.reconcile()

    async def reconcile(self) -> None:
        """Give back leases that this worker does not know of; forget claims that are not leased to it any more.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        said = {operation.request_id for operation, _ in self._outbox if not isinstance(operation, Put | Pause | Slow)}
        held = [*self._worker.held(), *(claim.request_id for claim in self.claimed), *said]
        missing = set(await patiently(lambda: self._frontier.reconcile(held)))
        for claim in [one for one in self.claimed if one.request_id in missing]:
            self.claimed.remove(claim)
            self._worker.forgot(claim)

    def give_back_unstarted(self) -> None:
        """Return what the buffer holds; the worker takes no more."""
        self._taking = False
        while self.claimed:
            claim = self.claimed.popleft()
            self._worker.forgot(claim)
            self.say(GiveBack(claim.request_id))

    def _next_batch(self, want: int) -> tuple[Batch, list[Context | None]]:
        # The first batch says nothing: sent again after the worker was taken for dead, it would be carried out twice.
        count = min(len(self._outbox), self._batch_size) if self._sequence else 0
        said = [self._outbox.popleft() for _ in range(count)]
        self._unsaid_bytes -= sum(len(one.payload) for one, _ in said if isinstance(one, Put))
        if not self._is_full:
            self._room.set()
        if not self._outbox:
            self._done_since = None
        # "Its download has ended" is idle talk where the same batch says that the request is done.
        done = {operation.request_id for operation, _ in said if isinstance(operation, Ack | Bury)}
        said = [one for one in said if not (isinstance(one[0], Left) and one[0].request_id in done)]
        self._sequence += 1
        batch = Batch(
            sequence=self._sequence,
            operations=[operation for operation, _ in said],
            want=max(0, want) if self._sequence > 1 else 0,
            held=self._worker.by_host(),
            share=self._share,
            local=self._worker.local(),
        )
        return batch, [context for _, context in said]

    async def _pause(self, answer: Answer) -> None:
        if len(self._outbox) >= self._batch_size or self._closing:
            return
        loop = asyncio.get_running_loop()
        if self._outbox or (answer.claims and len(self.claimed) <= self._prefetch // 2):
            delay = self._flush
        elif self._taking and len(self.claimed) < self._prefetch:
            delay = self._idle = min(self._idle * 2, IDLE_MOST)
            if answer.next_ms >= 0:
                delay = min(delay, max(answer.next_ms / 1000, 0.001))
        else:
            delay = IDLE_MOST
        self._waiter = loop.create_future()
        self._due = float("inf")
        self._due_in(delay)
        await self._waiter

    def _due_in(self, delay: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if due >= self._due:
            return
        self._due = due
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due, self._wake)

    def _wake(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Let ``run`` end after the call under way."""
        self._closing = True
        self._room.set()
        self._wake()

    async def flush(self) -> None:
        """Send all that was said, claiming nothing; after ``run`` has ended.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        while self._outbox or self._under_way:
            await self._exchange(0)
