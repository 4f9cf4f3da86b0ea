"""Seeds: checked here, then pushed where the workers read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis

from deploy.errors import DeployError, UsageError
from deploy.redis_errors import away
from spiders_project.seeds.writer import PushReport
from spiders_project.seeds.writer import push as push_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spiders_project.seeds.writer import Kind

_CONNECT_SECONDS = 5


def redis_client(url: str) -> redis.Redis:
    """A client of the frontier's Redis that has answered.

    Raises:
        ConnectError: It does not answer, or refuses the password; the URL's password is not shown.
        UsageError: ``url`` is none.
    """
    try:
        client = redis.Redis.from_url(url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=30)
        client.ping()
    except ValueError as error:
        raise UsageError(f"REDIS_URL is no address of a Redis: {error}") from error
    except redis.RedisError as error:
        raise away(error, f"Redis at {_shown(url)}") from error
    return client


def push_seeds(client: redis.Redis, key: str, entries: Iterable[str | bytes], kind: Kind | None = None) -> PushReport:
    """Push what is a seed to ``key``; the report says how many, and what was refused and why.

    ``kind`` is the type that the workers read (REDIS_START_URLS_AS_SET, REDIS_START_URLS_AS_ZSET); without it the
    type that the key has, or a list where there is no key.

    Raises:
        DeployError: Redis refuses the write.
    """
    try:
        return push_entries(client, key, entries, kind=kind or _kind(client, key))
    except redis.RedisError as error:
        raise DeployError(f"Redis did not take the seeds: {error}") from error


def _kind(client: redis.Redis, key: str) -> Kind:
    found: Any = client.type(key)
    kinds: dict[bytes, Kind] = {b"set": "set", b"zset": "zset"}
    return kinds.get(found, "list")


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}:{parts.port or 6379}{parts.path}"
