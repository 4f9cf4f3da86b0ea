"""What waits for MongoDB: bounded in items and bytes, gathered into batches by size and by age."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typing_extensions import Self

    from spiders_project.delivery import Delivery


logger = logging.getLogger(__name__)

#: Seconds until a batch is tried again that could not be stored for a reason that nobody thought of.
FAULT_SECONDS = 5


@dataclass(slots=True, eq=False)
class Entry:
    """A document that waits to be written.

    Attributes:
        id: Its ``_id``; two entries of one id become one.
        raw: What will be written, as BSON.
        holds: The deliveries that wait for it.
        items: How many items it stands for.
        size: Bytes that it takes in memory.
    """

    id: str
    raw: bytes
    holds: list[Delivery] = field(default_factory=list, kw_only=True)
    items: int = field(default=1, kw_only=True)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.raw)

    def absorb(self, later: Self) -> None:
        """Take over a later version of the same document: its content wins, everybody's hold stays."""
        self.raw = later.raw
        self.holds += later.holds
        self.items += later.items
        self.size += later.size


EntryT = TypeVar("EntryT", bound=Entry)


class Room:
    """The bound over all collections of a worker. Whoever finds it full waits, which slows the crawl down.

    They get in as they came, so that a large one does not wait while small ones pass it.
    """

    def __init__(self, items: int, size: int) -> None:
        self._items = items
        self._size = size
        self.items = 0
        self.size = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def full(self, size: int) -> bool:
        """Whether an entry of ``size`` bytes has to wait; one larger than the bound may come alone."""
        return bool(self._waiting) or self._lacks(size)

    def _lacks(self, size: int) -> bool:
        return self.items >= self._items or (self.items > 0 and self.size + size > self._size)

    async def enter(self, size: int) -> None:
        """Wait until there is room for an entry of ``size`` bytes, and take it."""
        if not self.full(size):
            self._take(size)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave(1, size)
            raise

    def _take(self, size: int) -> None:
        self.items += 1
        self.size += size

    def leave(self, items: int, size: int) -> None:
        """Give room back, and let in those who wait, as far as there is room."""
        self.items -= items
        self.size -= size
        while self._waiting and (self._waiting[0][1].done() or not self._lacks(self._waiting[0][0])):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._take(wanted)
                turn.set_result(None)


class Batcher(Generic[EntryT]):
    """The entries of one collection on their way: one batch in flight, the next one gathering.

    Args:
        store: Stores a batch, however long it takes; an entry that it cannot store it sets aside itself.
        room: Gets the room of a stored batch back.
        batch_size: Entries that make a batch at once.
        flush_seconds: How long an entry waits for company at most.
    """

    def __init__(
        self,
        store: Callable[[list[EntryT]], Awaitable[None]],
        room: Room,
        batch_size: int,
        flush_seconds: float,
    ) -> None:
        self._store = store
        self._room = room
        self._batch_size = batch_size
        self._flush_seconds = flush_seconds
        self._gathering: dict[str, EntryT] = {}
        self._flying: list[EntryT] = []
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = False

    def add(self, entry: EntryT) -> None:
        """Put an entry into the next batch."""
        earlier = self._gathering.get(entry.id)
        if earlier is None:
            self._gathering[entry.id] = entry
        else:
            earlier.absorb(entry)
        if len(self._gathering) >= self._batch_size:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._flush_seconds, self.flush)

    def flush(self) -> None:
        """Send what has gathered as soon as no other batch is in flight."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._due = True
        elif self._gathering:
            self._task = asyncio.get_running_loop().create_task(self._fly())

    async def _fly(self) -> None:
        while self._gathering:
            batch = self._flying = list(self._gathering.values())[: self._batch_size]
            for entry in batch:
                del self._gathering[entry.id]
            self._due = False
            await self._store_surely(batch)
            self._flying = []
            self._room.leave(sum(entry.items for entry in batch), sum(entry.size for entry in batch))
            for delivery in [delivery for entry in batch for delivery in entry.holds]:
                try:
                    delivery.release()
                except Exception:
                    logger.exception("request %s could not be settled", delivery.request_id)
            if not self._due and len(self._gathering) < self._batch_size:
                break
        self._task = None
        if self._gathering and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._flush_seconds, self.flush)

    async def _store_surely(self, batch: list[EntryT]) -> None:
        while True:
            try:
                await self._store(batch)
            except Exception:
                # A fault of ours. To go on without the batch would lose items; so would a task that ends here.
                logger.exception("A batch could not be stored; trying again in %d s", FAULT_SECONDS)
                await asyncio.sleep(FAULT_SECONDS)
            else:
                return

    async def drain(self) -> None:
        """Send everything, and wait until it is stored."""
        while self._gathering or self._task is not None:
            self.flush()
            if self._task is not None:
                await self._task

    def abandon(self) -> int:
        """Stop, and give the number of items that were not stored; their deliveries stay held."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        return sum(entry.items for entry in (*self._gathering.values(), *self._flying))
