"""What a worker does while Redis is away: it waits, tries again, and says so."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, TypeVar

from spiders_project.errors import FrontierUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

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
