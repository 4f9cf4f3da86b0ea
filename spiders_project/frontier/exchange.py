"""A worker's side of the frontier: what it has to say gathers here, and goes out in few calls.

One call carries puts, acks and the wish for more, about every ``flush_seconds`` while there is something to say, or
as soon as ``batch_size`` operations have gathered. Claims come into a small buffer that is filled in the background.
Redis away: the batch under way is sent again with the same number until it is answered, so nothing is lost and
nothing is done twice; meanwhile no claims arrive, so the worker runs dry by itself and memory stays bounded.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from spiders_project.errors import FrontierUnavailable
from spiders_project.frontier.contract import Ack, Batch, Bury, Left

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spiders_project.frontier.contract import Answer, Claim, Frontier, Operation

logger = logging.getLogger(__name__)

Context = TypeVar("Context")
Result = TypeVar("Result")

#: Between two looks at a frontier that has nothing to give: doubled from the first to the second, in seconds.
IDLE_FIRST, IDLE_MOST = 0.02, 0.5
#: Between two tries while Redis is away, in seconds, with full jitter.
AWAY_FIRST, AWAY_MOST = 0.1, 3.0
#: While Redis is away, the log says so this often, in seconds.
AWAY_REPORT = 30.0


async def patiently(call: Callable[[], Awaitable[Result]], give_up: Callable[[], bool] = lambda: False) -> Result:
    """Call until Redis answers, with back-off, and say so in the log.

    Raises:
        FrontierError: Redis answers, and will not do what was asked.
        FrontierUnavailable: Redis is away and ``give_up()`` says to wait no longer.
    """
    loop = asyncio.get_running_loop()
    away_since = reported = 0.0
    delay = AWAY_FIRST
    while True:
        try:
            result = await call()
        except FrontierUnavailable as error:
            if give_up():
                raise
            now = loop.time()
            away_since = away_since or now
            if not reported or now - reported >= AWAY_REPORT:
                logger.warning(
                    "%s. The worker waits and tries again; nothing is lost (%.0f s so far).", error, now - away_since
                )
                reported = now
        else:
            if away_since:
                logger.info("Redis is back after %.1f s", loop.time() - away_since)
            return result
        await asyncio.sleep(random.uniform(delay / 2, delay))  # noqa: S311 - jitter, not a secret
        delay = min(delay * 2, AWAY_MOST)


class Exchange(Generic[Context]):
    """Batches of one worker. ``Context`` is what the caller wants back with a put that was dropped."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        batch_size: int,
        flush_seconds: float,
        prefetch: int,
        on_answer: Callable[[Answer], None],
        on_dropped: Callable[[Context], None],
        read_seeds: Callable[[Answer], Awaitable[bool]],
        full_hosts: Callable[[], Sequence[str]] = lambda: (),
        local: Callable[[], int] = lambda: 0,
    ) -> None:
        """Nothing is sent before ``run``.

        Args:
            frontier: This worker's door to the frontier.
            batch_size: Operations that go out at once, and the most in one call.
            flush_seconds: How long an operation waits for company.
            prefetch: How many claims the buffer holds.
            on_answer: Called after each call, when ``claimed`` has been filled.
            on_dropped: Called for each put whose fingerprint was known.
            read_seeds: Awaited after each call; answers whether seeds were moved, so that claims may follow.
            full_hosts: Hosts that have their share of this worker.
            local: How many requests wait inside this worker.
        """
        self._frontier = frontier
        self._batch_size = batch_size
        self._flush = flush_seconds
        self._prefetch = prefetch
        self._on_answer = on_answer
        self._on_dropped = on_dropped
        self._read_seeds = read_seeds
        self._full_hosts = full_hosts
        self._local = local
        self.claimed: deque[Claim] = deque()
        self._outbox: deque[tuple[Operation, Context | None]] = deque()
        self._under_way: tuple[Batch, list[Context | None]] | None = None
        self._sequence = 0
        self._idle = IDLE_FIRST
        self._due = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False

    def say(self, operation: Operation, context: Context | None = None) -> None:
        """Send ``operation`` with one of the next batches, after all that was said before."""
        self._outbox.append((operation, context))
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

    # ------------------------------------------------------------------ the loop

    async def run(self) -> None:
        """Exchange until ``close``.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        while not self._closing:
            answer = await self._exchange(self._prefetch - len(self.claimed))
            if answer.claims:
                self._idle = IDLE_FIRST
            if not await self._read_seeds(answer):
                await self._pause(answer)

    async def _exchange(self, want: int) -> Answer:
        # A batch that was cut off on its way (the run was cancelled) goes out again under its own number.
        if self._under_way is None:
            self._under_way = self._next_batch(want)
        batch, contexts = self._under_way
        answer = await patiently(lambda: self._frontier.exchange(batch))
        self._under_way = None
        self.claimed.extend(answer.claims)
        for index in answer.dropped:
            context = contexts[index]
            if context is not None:
                self._on_dropped(context)
        self._on_answer(answer)
        return answer

    def _next_batch(self, want: int) -> tuple[Batch, list[Context | None]]:
        said = [self._outbox.popleft() for _ in range(min(len(self._outbox), self._batch_size))]
        # "Its download has ended" is idle talk where the same batch says that the request is done.
        done = {operation.request_id for operation, _ in said if isinstance(operation, Ack | Bury)}
        said = [one for one in said if not (isinstance(one[0], Left) and one[0].request_id in done)]
        self._sequence += 1
        batch = Batch(
            sequence=self._sequence,
            operations=[operation for operation, _ in said],
            want=max(0, want),
            full=self._full_hosts(),
            local=self._local(),
        )
        return batch, [context for _, context in said]

    async def _pause(self, answer: Answer) -> None:
        if len(self._outbox) >= self._batch_size or self._closing:
            return
        loop = asyncio.get_running_loop()
        if self._outbox or (answer.claims and len(self.claimed) <= self._prefetch // 2):
            delay = self._flush
        elif len(self.claimed) < self._prefetch:
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
        self._wake()

    async def flush(self) -> None:
        """Send all that was said, claiming nothing; after ``run`` has ended.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        while self._outbox or self._under_way:
            await self._exchange(0)
