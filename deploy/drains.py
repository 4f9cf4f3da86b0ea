"""Nodes that are drained: they get no new work, and the supervisor moves what they have.

A flag in the frontier's Redis, set by ``deploy drain``; ``drain = true`` in fleet.toml says the same for good.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from deploy import keys
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    import redis


def set_draining(client: redis.Redis, name: str, *, draining: bool) -> None:
    """Drain the node called ``name``, or let it have work again; a second drain keeps the first one's time.

    Raises:
        DeployError: Redis does not take it; as the other functions here.
    """
    with spoken():
        if draining:
            client.hsetnx(keys.DRAINED, name, f"{time.time():.3f}")
        else:
            client.hdel(keys.DRAINED, name)


def drained(client: redis.Redis) -> dict[str, float]:
    """Since when each drained node is, in unix seconds, by name."""
    with spoken():
        flags = cast("dict[bytes, bytes]", client.hgetall(keys.DRAINED))
    return {name.decode(): float(since) for name, since in flags.items()}


def is_draining(client: redis.Redis, name: str) -> bool:
    """Whether the node called ``name`` is to get no new work."""
    with spoken():
        return bool(client.hexists(keys.DRAINED, name))
