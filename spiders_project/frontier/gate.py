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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spiders_project.frontier.contract import Ask, Grant, Left, Pause, Slow
from spiders_project.frontier.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spiders_project.frontier.contract import Frontier, HostLimits, Operation

#: A start may be this late, in seconds, before it books anew; the scripts add as much to the delay (SLACK_MS).
SLACK = 0.020
#: A claimed request waits here for so many seconds at most.
PATIENCE = 2.0
#: Who waits for longer looks again after so many seconds: a pause may have been ended.
LOOK_AGAIN = 1.0
#: A download that starts late books anew so often; in a loop that is never on time it starts in the end.
MOST_BOOKINGS = 5
#: Hosts whose wishes a worker remembers; Redis does it for all.
MOST_WISHES = 10_000
#: A host's own wish is told to the others when it has changed by this share.
WORTH_TELLING = 0.1
#: Seconds that downloads for pages under way may still wait for their turn when the worker stops.
CLOSING_PATIENCE = 10.0


class NotNow(Exception):  # noqa: N818 - a state, not a failure
    """The host may not be visited for a while; the claimed request was not started, and should go back."""


class GateClosed(NotNow):
    """The worker stops; the download was not started."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One download on its way through the gate.

    Attributes:
        host: Its host.
        claimed_at: When its claim was asked for (the loop's clock); None when it never was claimed.
        booking: What its claim, or its last grant, booked.
        slot_id: The concurrency slot that it got for itself.
        entered: Whether it has come to the gate.
        due: When it may start by its booking (the loop's clock); None when it has none.
        booked_at: When it was booked.
    """

    host: str
    claimed_at: float | None = None
    booking: int = 0
    slot_id: str = ""
    entered: bool = False
    due: float | None = field(init=False)
    booked_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.due = self.claimed_at
        self.booked_at = self.claimed_at or 0.0


@dataclass(slots=True)
class Wish:
    """What a host asks for: ``seconds`` between two starts, ``since`` when; ``told`` is what the others have heard."""

    seconds: float
    since: float
    told: float


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
        self._frontier = frontier
        self._limits_of = limits_of
        self._held = held
        self._tickets = tickets
        self._say = say
        self._downloading: Counter[str] = Counter()
        self._slots: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._asks: list[tuple[Ask, asyncio.Future[Grant]]] = []
        self._slot_ids: set[str] = set()
        self._paused: dict[str, tuple[float, float]] = {}  # until when, and since when this worker knows
        self._wishes: dict[str, Wish] = {}
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
            NotNow: A claimed request would have to wait for longer than ``PATIENCE``.
            FrontierError: Redis answers, and will not do what was asked.
        """
        ticket.entered = True
        if self._limits(ticket.host).concurrency > 0:
            await self._take_place(ticket)
        else:
            self._downloading[ticket.host] += 1
        try:
            await self._await_turn(ticket)
            self._refuse_when_closed(ticket)
        except BaseException:
            self.leave(ticket)
            raise

    def pause(self, host: str, seconds: float) -> None:
        """Let in nobody to ``host`` for ``seconds`` whose claim was asked for before now."""
        now = asyncio.get_running_loop().time()
        self._paused = {one: (until, since) for one, (until, since) in self._paused.items() if until > now}
        until, _ = self._paused.get(host, (0.0, 0.0))
        self._paused[host] = max(now + seconds, until), now

    def heard(self, paused: Mapping[str, float], asked_at: float) -> None:
        """What Redis says of pauses of hosts without a delay: host → seconds; what it does not name is over.

        ``asked_at`` is when it was asked; it does not know of a pause that began later.
        """
        for host, (_, since) in list(self._paused.items()):
            if since < asked_at and host not in paused and not self._limits(host).delay_ms:
                del self._paused[host]
        for host, seconds in paused.items():
            now = asyncio.get_running_loop().time()
            self._paused[host] = now + seconds, now

    def pause_all(self, host: str, seconds: float) -> None:
        """As ``pause``, in all workers."""
        self.pause(host, seconds)
        self._say(Pause(host, round(seconds * 1000)))

    def slow(self, host: str, seconds: float, *, first: bool = False) -> None:
        """``host`` asks for ``seconds`` between two starts, in all workers; ``first``: unless it has asked before."""
        wish = self._wishes.get(host)
        if wish is None:
            if len(self._wishes) >= MOST_WISHES:
                del self._wishes[next(iter(self._wishes))]
            wish = self._wishes[host] = Wish(seconds, since=asyncio.get_running_loop().time(), told=-1.0)
        wish.seconds = seconds
        if abs(seconds - wish.told) > WORTH_TELLING * wish.told:
            wish.told = seconds
            self._say(Slow(host, round(seconds * 1000), first))

    def _limits(self, host: str) -> HostLimits:
        limits = self._limits_of(host)
        wish = self._wishes.get(host) if self._wishes else None
        if wish is None or wish.seconds * 1000 <= limits.delay_ms:
            return limits
        return replace(limits, delay_ms=wish.seconds * 1000)

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

    async def _take_place(self, ticket: Ticket) -> None:
        """Take one of the host's slots.

        Who waits for a new slot holds none meanwhile: claims that come would wait for it, and it for them.
        """
        host = ticket.host
        while not self._has_room(host):
            if ticket.claimed_at is not None:
                await self._room_made(host)  # its own slot is lent, and comes back
                continue
            grant = await self._ask(self._wish(ticket, slot=True))
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
            wait = max(ticket.due or 0.0, self._paused_until(ticket)) - loop.time()
            if wait <= 0:
                return
            if ticket.claimed_at is not None and wait > PATIENCE:
                raise NotNow
            await self._sleep(ticket, min(wait, LOOK_AGAIN))

    def _has_delay(self, ticket: Ticket) -> bool:
        """Whether the host has a delay, by the settings, by its own wish, or by what its claims have booked.

        Another worker may have heard of a wish, and told Redis, before this one has read the robots.txt.
        """
        if ticket.booking or self._limits(ticket.host).delay_ms > 0:
            return True
        if ticket.claimed_at is not None:
            return ticket.due is None  # its turn is lent
        return any(other.booking and other.host == ticket.host for other in self._tickets())

    def _is_late(self, ticket: Ticket) -> bool:
        """Whether it has no booking, has missed it, or was booked before the host asked for a delay."""
        if ticket.due is None or asyncio.get_running_loop().time() - ticket.due > SLACK:
            return True
        wish = self._wishes.get(ticket.host)
        return wish is not None and ticket.booked_at < wish.since

    def _borrow_turn(self, ticket: Ticket) -> None:
        """Take the booking of a claimed request of this host that has not come to the gate; that one books anew."""
        for other in self._tickets():
            if other.host == ticket.host and other.booking and not other.entered and not self._is_late(other):
                ticket.due, ticket.booking, ticket.booked_at = other.due, other.booking, other.booked_at
                other.due, other.booking = None, 0
                return

    def _paused_until(self, ticket: Ticket) -> float:
        until, since = self._paused.get(ticket.host, (0.0, 0.0))
        # Redis knew of the pause when it gave a later claim, or a booking.
        return 0.0 if max(ticket.claimed_at or 0.0, ticket.booked_at) > since else until

    def _wish(self, ticket: Ticket, *, slot: bool = False) -> Ask:
        wish = self._wishes.get(ticket.host)
        return Ask(
            ticket.host,
            ticket.booking,
            slot,
            patience_ms=0 if ticket.claimed_at is None else round(PATIENCE * 1000),
            delay_ms=round(wish.seconds * 1000) if wish is not None else 0,
        )

    async def _book(self, ticket: Ticket) -> None:
        """Book the host anew."""
        while True:
            grant = await self._ask(self._wish(ticket))
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
