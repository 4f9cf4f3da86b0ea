"""Bookings of hosts that the gate asks for: one call for all downloads that come in one turn of the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spiders_project.frontier.patience import patiently
from spiders_project.frontier.ticket import GateClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from spiders_project.frontier.contract import Ask, Frontier, Grant


class Bookings:
    """Asks the frontier to book hosts."""

    def __init__(self, frontier: Frontier, is_closed: Callable[[], bool]) -> None:
        """``is_closed`` says that the worker stops, and waits for Redis no longer."""
        self._frontier = frontier
        self._is_closed = is_closed
        self._asks: list[tuple[Ask, asyncio.Future[Grant]]] = []

    async def ask(self, ask: Ask) -> Grant:
        """What the frontier grants.

        Raises:
            GateClosed: The worker stops.
            FrontierError: Redis answers, and will not do what was asked.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Grant] = loop.create_future()
        self._asks.append((ask, future))
        if len(self._asks) == 1:
            loop.call_soon(lambda: asyncio.ensure_future(self._send()))
        return await future

    async def _send(self) -> None:
        asked, self._asks = self._asks, []
        try:
            grants = await patiently(lambda: self._frontier.book([ask for ask, _ in asked]), give_up=self._is_closed)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who asked
            for _, future in asked:
                if not future.done():
                    future.set_exception(GateClosed() if self._is_closed() else error)
            return
        for (_, future), grant in zip(asked, grants, strict=True):
            if not future.done():
                future.set_result(grant)
