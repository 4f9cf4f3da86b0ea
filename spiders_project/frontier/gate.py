"""The gate before each download: the last place where a host's limits are held, and the only one that sees all.

A claim books its host, so most requests pass without asking anybody. What starts late (behind a slow robots.txt, after
an outage, out of a full buffer, in a loop that was busy) books anew, or delays would bunch. What never was claimed
(robots.txt, media pipelines, ``download_async``) borrows slot and booking of a claimed request of its host that is not
downloading yet, or gets its own. A claimed request that would have to wait for long goes back: waiting here it takes
up a download slot of the worker, which other hosts could use.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from spiders_project.frontier.bookings import Bookings
from spiders_project.frontier.contract import Ask, Left
from spiders_project.frontier.ticket import GateClosed, NotNow
from spiders_project.frontier.wishes import Wishes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spiders_project.frontier.contract import Frontier, Grant, HostLimits, Operation
    from spiders_project.frontier.ticket import Ticket

#: A start may be this late, in seconds, before it books anew; the scripts add as much to the delay (SLACK_MS).
SLACK = 0.020
#: A claimed request waits here for so many seconds at most.
PATIENCE = 2.0
#: Who waits for longer looks again after so many seconds: a pause may have been ended.
LOOK_AGAIN = 1.0
#: A download that starts late books anew so often; in a loop that is never on time it starts in the end.
MOST_BOOKINGS = 5
#: Seconds that downloads for pages under way may still wait for their turn when the worker stops.
CLOSING_PATIENCE = 10.0


class Gate:
    """Holds the limits of hosts at the downloader."""

    def __init__(
        self,
        frontier: Frontier,
        *,
        limits_of: Callable[[str], HostLimits],
        held: Callable[[str], int],
        tickets: Callable[[], Iterable[Ticket]],
        say: Callable[[Operation], None],
    ) -> None:
        """Nobody has entered yet.

        Args:
            frontier: Whom it asks.
            limits_of: What the settings allow for a host.
            held: How many claimed requests of a host this worker has whose download has not ended.
            tickets: Those of all claimed requests of this worker whose download has not ended.
            say: Sends an operation to the frontier.
        """
        self._held = held
        self._tickets = tickets
        self._say = say
        self._downloading: Counter[str] = Counter()
        self._slots: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._slot_ids: set[str] = set()
        self._closed: asyncio.Event = asyncio.Event()
        self._closed_at = 0.0
        self._wishes = Wishes(limits_of, say)
        self._bookings = Bookings(frontier, self._closed.is_set)

    @property
    def slot_ids(self) -> frozenset[str]:
        """Slots of downloads that never were claimed."""
        return frozenset(self._slot_ids)

    async def enter(self, ticket: Ticket) -> None:
        """Return when the download may start.

        Raises:
            GateClosed: The worker stops.
            NotNow: A claimed request would have to wait for longer than ``PATIENCE``.
            FrontierError: Redis answers, and will not do what was asked.
        """
        ticket.entered = True
        if self._wishes.limits(ticket.host).concurrency > 0:
            await self._take_place(ticket)
        else:
            self._downloading[ticket.host] += 1
        try:
            await self._await_turn(ticket)
            self._refuse_when_closed(ticket)
        except BaseException:
            self.leave(ticket)
            raise

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

    def pause_all(self, host: str, seconds: float) -> None:
        """See ``Wishes.pause``."""
        self._wishes.pause(host, seconds)

    def slow(self, host: str, seconds: float, *, first: bool = False) -> None:
        """See ``Wishes.slow``."""
        self._wishes.slow(host, seconds, first=first)

    def heard(self, paused: Mapping[str, float], asked_at: float) -> None:
        """See ``Wishes.heard``."""
        self._wishes.heard(paused, asked_at)

    def _refuse_when_closed(self, ticket: Ticket) -> None:
        if self._closed.is_set() and ticket.claimed_at is not None:
            raise GateClosed

    def _has_room(self, host: str) -> bool:
        return self._downloading[host] < self._held(host) + self._slots[host]

    async def _take_place(self, ticket: Ticket) -> None:
        """Take one of the host's slots.

        Who waits for a new slot holds none meanwhile: claims that come would wait for it, and it for them.
        """
        host = ticket.host
        while not self._has_room(host):
            if ticket.claimed_at is not None:
                await self._room_made(host)  # its own slot is lent, and comes back
                continue
            grant = await self._ask(ticket, slot=True)
            if grant.granted:
                ticket.slot_id = grant.slot_id
                self._slot_ids.add(grant.slot_id)
                self._slots[host] += 1
                self._granted(ticket, grant)
                break
            await self._sleep(ticket, grant.wait_ms / 1000)
        self._downloading[host] += 1

    async def _room_made(self, host: str) -> None:
        if self._closed.is_set():
            raise GateClosed
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host, deque()).append(waiter)
        await waiter

    async def _await_turn(self, ticket: Ticket) -> None:
        """Return when the host may be visited."""
        loop = asyncio.get_running_loop()
        bookings = 0
        while True:
            if self._has_delay(ticket):
                if ticket.due is None and ticket.claimed_at is None:
                    self._borrow_turn(ticket)
                if self._is_late(ticket) and bookings < MOST_BOOKINGS:
                    await self._book(ticket)
                    bookings += 1
            wait = max(ticket.due or 0.0, self._wishes.paused_until(ticket)) - loop.time()
            if wait <= 0:
                return
            if ticket.claimed_at is not None and wait > PATIENCE:
                raise NotNow
            await self._sleep(ticket, min(wait, LOOK_AGAIN))

    def _has_delay(self, ticket: Ticket) -> bool:
        """Whether the host has a delay, by the settings, by its own wish, or by what its claims have booked.

        Another worker may have heard of a wish, and told Redis, before this one has read the robots.txt.
        """
        if ticket.booking or self._wishes.limits(ticket.host).delay_ms > 0:
            return True
        if ticket.claimed_at is not None:
            return ticket.due is None  # its turn is lent
        return any(other.booking and other.host == ticket.host for other in self._tickets())

    def _is_late(self, ticket: Ticket) -> bool:
        """Whether it has no booking, has missed it, or was booked before the host asked for a delay."""
        if ticket.due is None or asyncio.get_running_loop().time() - ticket.due > SLACK:
            return True
        return self._wishes.outdates(ticket)

    def _borrow_turn(self, ticket: Ticket) -> None:
        """Take the booking of a claimed request of this host that has not come to the gate; that one books anew."""
        for other in self._tickets():
            if other.host == ticket.host and other.booking and not other.entered and not self._is_late(other):
                ticket.due, ticket.booking, ticket.booked_at = other.due, other.booking, other.booked_at
                other.due, other.booking = None, 0
                return

    async def _ask(self, ticket: Ticket, *, slot: bool = False) -> Grant:
        patience_ms = 0 if ticket.claimed_at is None else round(PATIENCE * 1000)
        delay_ms = self._wishes.delay_ms(ticket.host)
        return await self._bookings.ask(Ask(ticket.host, ticket.booking, slot, patience_ms, delay_ms))

    async def _book(self, ticket: Ticket) -> None:
        """Book the host anew."""
        while True:
            grant = await self._ask(ticket)
            if grant.granted:
                return self._granted(ticket, grant)
            if ticket.claimed_at is not None:
                raise NotNow
            await self._sleep(ticket, grant.wait_ms / 1000)

    def _granted(self, ticket: Ticket, grant: Grant) -> None:
        ticket.booked_at = asyncio.get_running_loop().time()
        ticket.due = ticket.booked_at + grant.wait_ms / 1000
        ticket.booking = grant.booking

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
