"""What hosts ask for, as one worker knows it: to be left alone for a while, or a delay between two starts.

Redis knows it for all workers, and heeds it in every claim and booking; what stands here is for downloads whose claim
is older than the wish.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spiders_project.frontier.contract import Pause, Slow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spiders_project.frontier.contract import HostLimits, Operation
    from spiders_project.frontier.ticket import Ticket

#: Hosts whose delays a worker remembers; Redis does it for all.
MOST_DELAYS = 10_000
#: A host's own delay is told to the others when it has changed by this share.
WORTH_TELLING = 0.1


@dataclass(slots=True)
class Delay:
    """A host asks for ``seconds`` between two starts, ``since`` when; ``told`` is what the others have heard."""

    seconds: float
    since: float
    told: float


class Wishes:
    """Pauses and delays that hosts ask for. All times are seconds, by the loop's clock."""

    def __init__(self, limits_of: Callable[[str], HostLimits], say: Callable[[Operation], None]) -> None:
        """No host has asked for anything yet.

        Args:
            limits_of: What the settings allow for a host.
            say: Sends an operation to the frontier.
        """
        self._limits_of = limits_of
        self._say = say
        self._paused: dict[str, tuple[float, float]] = {}  # until when, and since when this worker knows
        self._delays: dict[str, Delay] = {}

    def pause(self, host: str, seconds: float) -> None:
        """Let no worker visit ``host`` for ``seconds``, here also with claims that were asked for before now."""
        now = asyncio.get_running_loop().time()
        self._paused = {one: (until, since) for one, (until, since) in self._paused.items() if until > now}
        until, _ = self._paused.get(host, (0.0, 0.0))
        self._paused[host] = max(now + seconds, until), now
        self._say(Pause(host, round(seconds * 1000)))

    def heard(self, paused: Mapping[str, float], asked_at: float) -> None:
        """What Redis says of pauses of hosts without a delay: host → seconds; what it does not name is over.

        ``asked_at`` is when it was asked; it does not know of a pause that began later.
        """
        for host, (_, since) in list(self._paused.items()):
            if since < asked_at and host not in paused and not self.limits(host).delay_ms:
                del self._paused[host]
        for host, seconds in paused.items():
            now = asyncio.get_running_loop().time()
            self._paused[host] = now + seconds, now

    def paused_until(self, ticket: Ticket) -> float:
        """When the pause of its host ends; 0.0 where none concerns it."""
        until, since = self._paused.get(ticket.host, (0.0, 0.0))
        # Redis knew of the pause when it gave a later claim, or a booking.
        return 0.0 if max(ticket.claimed_at or 0.0, ticket.booked_at) > since else until

    def slow(self, host: str, seconds: float, *, first: bool = False) -> None:
        """``host`` asks for ``seconds`` between two starts, in all workers; ``first``: unless it has asked before."""
        delay = self._delays.get(host)
        if delay is None:
            if len(self._delays) >= MOST_DELAYS:
                del self._delays[next(iter(self._delays))]
            delay = self._delays[host] = Delay(seconds, since=asyncio.get_running_loop().time(), told=-1.0)
        delay.seconds = seconds
        if abs(seconds - delay.told) > WORTH_TELLING * delay.told:
            delay.told = seconds
            self._say(Slow(host, round(seconds * 1000), first))

    def delay_ms(self, host: str) -> int:
        """The delay that ``host`` itself asks for; 0 for none."""
        delay = self._delays.get(host)
        return round(delay.seconds * 1000) if delay is not None else 0

    def limits(self, host: str) -> HostLimits:
        """What the settings allow for ``host``, with its own delay where that is longer."""
        limits = self._limits_of(host)
        delay = self._delays.get(host) if self._delays else None
        if delay is None or delay.seconds * 1000 <= limits.delay_ms:
            return limits
        return replace(limits, delay_ms=delay.seconds * 1000)

    def outdates(self, ticket: Ticket) -> bool:
        """Whether ``ticket`` was booked before its host asked for a delay."""
        delay = self._delays.get(ticket.host)
        return delay is not None and ticket.booked_at < delay.since
