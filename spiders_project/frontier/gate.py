"""The gate before each download: the last place where a host's limits are held, and the only one that sees all.

A claim books its host, so most requests pass without asking anybody. What starts late (behind a slow robots.txt, after
an outage, out of a full buffer) books anew, or delays would bunch. What never was claimed (robots.txt, media
pipelines, ``download_async``) borrows the slot of a claimed request of its host that is not downloading yet, or
gets a slot of its own.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spiders_project.frontier.contract import Ask, Grant, Left
from spiders_project.frontier.exchange import patiently

if TYPE_CHECKING:
    from collections.abc import Callable

    from spiders_project.frontier.contract import Frontier, HostLimits, Operation

#: A start may be this late, in seconds, before it books anew; the scripts add as much to the delay (SLACK_MS).
SLACK = 0.020
#: Seconds that downloads for pages under way may still wait for their turn when the worker stops.
CLOSING_PATIENCE = 10.0


class GateClosed(Exception):  # noqa: N818 - a state, not a failure
    """The worker stops; the download was not started."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One download on its way through the gate.

    Attributes:
        host: Its host.
        claimed_at: When its claim was asked for (the loop's clock); None when it never was claimed.
        booking: What its claim booked.
        slot_id: The concurrency slot that it got for itself.
    """

    host: str
    claimed_at: float | None = None
    booking: int = 0
    slot_id: str = ""


class Gate:
    """Holds the limits of hosts at the downloader."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        limits_of: Callable[[str], HostLimits],
        held: Callable[[str], int],
        say: Callable[[Operation], None],
    ) -> None:
        """``held`` is how many claimed requests of a host this worker has whose download has not ended."""
        self._frontier = frontier
        self._limits_of = limits_of
        self._held = held
        self._say = say
        self._downloading: Counter[str] = Counter()
        self._slots: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._asks: list[tuple[Ask, asyncio.Future[Grant]]] = []
        self._slot_ids: set[str] = set()
        self._paused: dict[str, float] = {}
        self._closed: asyncio.Event = asyncio.Event()
        self._closed_at = 0.0

    @property
    def slot_ids(self) -> frozenset[str]:
        """Slots of downloads that never were claimed."""
        return frozenset(self._slot_ids)

    async def enter(self, ticket: Ticket) -> None:
        """Return when the download may start.

        Raises:
            GateClosed: The worker stops.
            FrontierError: Redis answers, and will not do what was asked.
        """
        limits = self._limits_of(ticket.host)
        if limits.concurrency > 0:
            wait = await self._take_place(ticket)
        else:
            self._downloading[ticket.host] += 1
            wait = None
        try:
            if wait is None and limits.delay_ms > 0 and self._is_late(ticket):
                wait = await self._book(ticket)
            wait = max(wait or 0.0, self._paused.get(ticket.host, 0.0) - asyncio.get_running_loop().time())
            if wait > 0:
                await self._sleep(ticket, wait)
            self._refuse_when_closed(ticket)
        except BaseException:
            self.leave(ticket)
            raise

    def pause(self, host: str, seconds: float) -> None:
        """Let nobody of this worker in to ``host`` for ``seconds``: claims in its buffer were made before the pause."""
        now = asyncio.get_running_loop().time()
        self._paused = {one: until for one, until in self._paused.items() if until > now}
        self._paused[host] = max(now + seconds, self._paused.get(host, 0.0))

    def _refuse_when_closed(self, ticket: Ticket) -> None:
        if self._closed.is_set() and ticket.claimed_at is not None:
            raise GateClosed

    def leave(self, ticket: Ticket) -> None:
        """The download has ended, or will not start."""
        host = ticket.host
        self._downloading[host] -= 1
        if not self._downloading[host]:
            del self._downloading[host]
        if ticket.slot_id:
            self._slot_ids.discard(ticket.slot_id)
            self._slots[host] -= 1
            if not self._slots[host]:
                del self._slots[host]
            self._say(Left(ticket.slot_id))
            ticket.slot_id = ""
        waiters = self._waiting.get(host)
        while waiters and self._has_room(host):
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if not waiters:
            self._waiting.pop(host, None)

    def close(self) -> None:
        """Let no claimed request in any more; who waits is told so.

        The others belong to work that has begun (a callback that downloads, an item's files), which is finished.
        """
        self._closed.set()
        self._closed_at = asyncio.get_running_loop().time()
        for waiters in self._waiting.values():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(GateClosed())

    def _has_room(self, host: str) -> bool:
        return self._downloading[host] < self._held(host) + self._slots[host]

    async def _take_place(self, ticket: Ticket) -> float | None:
        """Take one of the host's slots; the seconds to wait where a new one was booked with its time, else None.

        Who waits for a new slot holds none meanwhile: claims that come would wait for it, and it for them.
        """
        host = ticket.host
        while not self._has_room(host):
            if ticket.claimed_at is not None:
                await self._room_made(host)  # its own slot is lent, and comes back
                continue
            grant = await self._ask(Ask(host, slot=True))
            if grant.granted:
                ticket.slot_id = grant.slot_id
                self._slot_ids.add(grant.slot_id)
                self._slots[host] += 1
                self._downloading[host] += 1
                return grant.wait_ms / 1000
            await self._sleep(ticket, grant.wait_ms / 1000)
        self._downloading[host] += 1
        return None

    async def _room_made(self, host: str) -> None:
        if self._closed.is_set():
            raise GateClosed
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host, deque()).append(waiter)
        await waiter

    def _is_late(self, ticket: Ticket) -> bool:
        return ticket.claimed_at is None or asyncio.get_running_loop().time() - ticket.claimed_at > SLACK

    async def _book(self, ticket: Ticket) -> float:
        """Book the host anew; the seconds to wait."""
        while True:
            grant = await self._ask(Ask(ticket.host, ticket.booking))
            if grant.granted:
                return grant.wait_ms / 1000
            await self._sleep(ticket, grant.wait_ms / 1000)

    async def _sleep(self, ticket: Ticket, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        try:
            await asyncio.wait_for(self._closed.wait(), seconds)
        except asyncio.TimeoutError:
            return
        # What a started page waits for (its files, say) may still be had, unless that takes too long.
        left = until - loop.time()
        patience = self._closed_at + CLOSING_PATIENCE - loop.time() if ticket.claimed_at is None else 0.0
        await asyncio.sleep(max(0.0, min(left, patience)))
        if left > patience:
            raise GateClosed

    # Downloads that come to the gate in one turn of the loop ask in one call.

    async def _ask(self, ask: Ask) -> Grant:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Grant] = loop.create_future()
        self._asks.append((ask, future))
        if len(self._asks) == 1:
            loop.call_soon(lambda: asyncio.ensure_future(self._send_asks()))
        return await future

    async def _send_asks(self) -> None:
        asked, self._asks = self._asks, []
        try:
            grants = await patiently(
                lambda: self._frontier.book([ask for ask, _ in asked]), give_up=self._closed.is_set
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who asked
            for _, future in asked:
                if not future.done():
                    future.set_exception(GateClosed() if self._closed.is_set() else error)
            return
        for (_, future), grant in zip(asked, grants, strict=True):
            if not future.done():
                future.set_result(grant)
