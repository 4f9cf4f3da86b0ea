"""When each node was last heard of by anybody, from the frontier's Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from deploy.environment import asking_redis

if TYPE_CHECKING:
    from collections.abc import Iterable

    import redis

#: Hash: the node's name → when it last answered, in unix seconds.
KEY = "fleet:heard"


def hear(client: redis.Redis | None, names: Iterable[str]) -> None:
    """Note that these nodes have answered just now."""
    if client is not None:
        with asking_redis():
            for name in names:
                client.hset(KEY, name, f"{time.time():.3f}")


def last_heard(client: redis.Redis | None) -> dict[str, float]:
    """When each node last answered anybody, in unix seconds, by name."""
    if client is None:
        return {}
    with asking_redis():
        times = cast("dict[bytes, bytes]", client.hgetall(KEY))
    return {name.decode(): float(at) for name, at in times.items()}
