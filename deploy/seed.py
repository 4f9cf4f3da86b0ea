"""Seeds: checked here, then pushed where the workers read them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import redis

from deploy.errors import ConnectError, DeployError
from spiders_project.seeds.writer import PushReport
from spiders_project.seeds.writer import push as push_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONNECT_SECONDS = 5


def redis_client(url: str) -> redis.Redis:
    """A client of the frontier's Redis that has answered.

    Raises:
        ConnectError: It does not answer, or refuses the password; the URL's password is not shown.
    """
    try:
        client = redis.Redis.from_url(url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=30)
        client.ping()
    except (redis.RedisError, ValueError) as error:
        raise ConnectError(
            f"Redis at {_shown(url)} does not answer: {error}; is REDIS_URL right, and does it run?"
        ) from error
    return client


def push_seeds(client: redis.Redis, key: str, entries: Iterable[str | bytes]) -> PushReport:
    """Push what is a seed to ``key``; the report says how many, and what was refused and why.

    Raises:
        DeployError: Redis refuses the write.
    """
    try:
        return push_entries(client, key, entries)
    except redis.RedisError as error:
        raise DeployError(f"Redis did not take the seeds: {error}") from error


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}:{parts.port or 6379}{parts.path}"
