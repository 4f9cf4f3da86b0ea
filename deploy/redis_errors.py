"""What Redis says, as the operator is told it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import redis

from deploy.errors import ConnectError, DeployError

if TYPE_CHECKING:
    from collections.abc import Iterator


def away(error: redis.RedisError, where: str = "Redis") -> ConnectError:
    """The error of a Redis that does not answer; ``where`` shows no password."""
    return ConnectError(f"{where} does not answer: {str(error).rstrip('.')}; is REDIS_URL right, and does it run?")


@contextmanager
def spoken() -> Iterator[None]:
    """Redis's own errors as ours.

    Raises:
        ConnectError: Redis does not answer.
        DeployError: Redis refuses.
    """
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError) as error:
        raise away(error) from error
    except redis.RedisError as error:
        raise DeployError(f"Redis refuses: {error}; may this user touch keys that begin with fleet: ?") from error
