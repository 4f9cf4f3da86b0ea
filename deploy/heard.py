"""When each node was last heard of by anybody, from the frontier's Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from deploy import keys
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable

    import redis


def hear(client: redis.Redis | None, names: Iterable[str]) -> None:
    """Note that these nodes have answered just now."""
    if client is not None:
        with spoken():
            for name in names:
                client.hset(keys.HEARD, name, f"{time.time():.3f}")


def last_heard(client: redis.Redis | None) -> dict[str, float]:
    """When each node last answered anybody, in unix seconds, by name."""
    if client is None:
        return {}
    with spoken():
        times = cast("dict[bytes, bytes]", client.hgetall(keys.HEARD))
    return {name.decode(): float(at) for name, at in times.items()}
