"""Waiting for a MongoDB that is away: with back-off, for ever, and visible in the log."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING, TypeVar

from spiders_project.pipelines.failures import explain, is_passing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between attempts: doubled from the first to the last, then ± 25 % so that workers spread out.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
#: Seconds between two log lines about the same outage.
REPORT_EVERY = 30.0


class Patience:
    """Repeats a call until MongoDB has answered it.

    Args:
        on_wait: Called once for each failed attempt (for a stat).
    """

    def __init__(self, on_wait: Callable[[], None] = lambda: None) -> None:
        self._on_wait = on_wait

    async def __call__(
        self,
        what: str,
        attempt: Callable[[], Awaitable[T]],
        cures: Callable[[Exception], bool] = is_passing,
    ) -> T:
        """Give the answer of ``attempt``, however long it takes.

        Args:
            what: What is being tried, for the log.
            attempt: The call; must be safe to repeat.
            cures: Whether waiting may cure an error.

        Raises:
            Exception: Whatever ``attempt`` raises that waiting does not cure.
        """
        pause = FIRST_PAUSE
        since = reported = 0.0
        while True:
            try:
                answer = await attempt()
            except Exception as error:
                if not cures(error):
                    raise
                now = time.monotonic()
                since = since or now
                self._on_wait()
                if not reported or now - reported >= REPORT_EVERY:
                    reported = now
                    logger.warning(
                        "MongoDB cannot %(what)s (%(seconds)d s so far), trying until it can: %(why)s",
                        {"what": what, "seconds": now - since, "why": explain(error)},
                    )
            else:
                if since:
                    logger.info(
                        "MongoDB is back after %(seconds).1f s: %(what)s",
                        {"seconds": time.monotonic() - since, "what": what},
                    )
                return answer
            await asyncio.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 - spreads workers, guards nothing
            pause = min(pause * 2, LONGEST_PAUSE)
