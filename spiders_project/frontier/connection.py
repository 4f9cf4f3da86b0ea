"""Redis clients from scrapy-redis's settings, with time limits, and what Redis's errors mean to us."""

from __future__ import annotations

import builtins
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.sentinel
import redis.cluster
import redis.connection
import redis.sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,  # noqa: A004 - redis-py's own name for it
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 - redis-py's own name for it
    TryAgainError,
)
from redis.retry import Retry

from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.redis_settings import json_object, redis_parameters, sentinel_addresses
from spiders_project.settingtypes import DEFAULT_REDIS_URL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Seconds until a silent server counts as away: long enough for a slow script, short enough to notice a cut cable.
SOCKET_TIMEOUT = 10.0
CONNECT_TIMEOUT = 5.0
#: The name that Sentinel's own documentation gives a service.
DEFAULT_SERVICE = "mymaster"

# Redis answers, but cannot take writes for now: its administrator can mend that while we wait. redis-py makes a class
# of some error codes, and takes the code out of the text; what a script meets in Redis 6.2 comes as text.
_PASSING = (
    BusyLoadingError,
    ReadOnlyError,
    OutOfMemoryError,
    ClusterDownError,
    MasterDownError,
    TryAgainError,
)
_PASSING_WORDS = (
    "OOM ",
    "MISCONF",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "LOADING",
    "MASTERDOWN",
    "NOREPLICAS",
    "BUSY ",
)


def parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for a Redis client, from scrapy-redis's settings (``redis_settings.redis_parameters``)."""
    found = {"socket_timeout": SOCKET_TIMEOUT, "socket_connect_timeout": CONNECT_TIMEOUT, **redis_parameters(settings)}
    # Payloads are bytes; the others belong to scrapy-redis's own way of building a client.
    for name in ("decode_responses", "redis_cls", "retry_on_timeout", "encoding"):
        found.pop(name, None)
    return found


def async_client(settings: Mapping[str, Any]) -> redis.asyncio.Redis:
    """The worker's client; nothing is connected yet. Retries are ours (``exchange``), so redis-py makes none."""
    kinds = redis.asyncio.Redis, redis.asyncio.cluster.RedisCluster, redis.asyncio.sentinel.Sentinel
    client: redis.asyncio.Redis = _made(*kinds, settings, AsyncRetry(NoBackoff(), 0))
    return client


def blocking_client(settings: Mapping[str, Any]) -> redis.Redis:
    """A client for threads and tools; with Redis Cluster it connects at once, else at its first call.

    Raises:
        FrontierUnavailable: The cluster does not answer.
    """
    with translated():
        kinds = redis.Redis, redis.cluster.RedisCluster, redis.sentinel.Sentinel
        client: redis.Redis = _made(*kinds, settings, Retry(NoBackoff(), 0))
    return client


def _made(single: Any, cluster: Any, sentinel: Any, settings: Mapping[str, Any], retry: Any) -> Any:
    if settings.get("REDIS_SENTINELS"):
        return _by_sentinel(sentinel, settings, retry)
    return _client(cluster if on_cluster(settings) else single, settings, retry)


def _by_sentinel(kind: Any, settings: Mapping[str, Any], retry: Any) -> Any:
    """A client of whichever server the sentinels name as master, asked again at each new connection."""
    found = {**parameters(settings), "retry": retry}
    url = found.pop("url", None)
    if url and url != DEFAULT_REDIS_URL:
        # What REDIS_URL says of user, password, database and TLS counts; where the master is, the sentinels know.
        told = redis.connection.parse_url(url)  # type: ignore[no-untyped-call]  # redis-py's
        found = {**{name: told[name] for name in ("username", "password", "db") if name in told}, **found}
        found.setdefault("ssl", url.startswith("rediss:"))
    for name in ("host", "port"):
        found.pop(name, None)
    sentinels = kind(
        sentinel_addresses(settings),
        sentinel_kwargs={"socket_timeout": CONNECT_TIMEOUT, **json_object(settings, "REDIS_SENTINEL_PARAMS")},
        **found,
    )
    return sentinels.master_for(settings.get("REDIS_SENTINEL_SERVICE") or DEFAULT_SERVICE)


def on_cluster(settings: Mapping[str, Any]) -> bool:
    """Whether Redis is a cluster: scrapy-redis's ``redis_cls`` in REDIS_PARAMS is ``redis.cluster.RedisCluster``."""
    kind = redis_parameters(settings).get("redis_cls", "")
    return str(getattr(kind, "__name__", kind)).endswith("RedisCluster")


def _client(kind: Any, settings: Mapping[str, Any], retry: Any) -> Any:
    found = {**parameters(settings), "retry": retry}
    url = found.pop("url", None)
    return kind.from_url(url, **found) if url else kind(**found)


@contextmanager
def translated() -> Iterator[None]:
    """Turn redis-py's exceptions into ``FrontierUnavailable`` (wait) or ``FrontierError`` (will not mend itself)."""
    try:
        yield
    except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
        raise FrontierError(
            f"Redis refuses this user: {str(error).rstrip('.')}. Check the password and ACL in REDIS_URL."
        ) from error
    except _PASSING as error:
        raise _not_now(error) from error
    except (ConnectionError, TimeoutError, builtins.ConnectionError) as error:
        raise FrontierUnavailable(f"Redis does not answer: {error}") from error
    except ResponseError as error:
        text = str(error)
        if any(word in text for word in _PASSING_WORDS):
            raise _not_now(error) from error
        if "CROSSSLOT" in text or "non local key" in text or "don't hash to the same slot" in text:
            raise FrontierError(
                "Redis is a cluster, so all keys of a crawl must lie in one slot: set FRONTIER_NAMESPACE to a hash "
                f"tag, as {{site}} with its braces, and let REDIS_START_URLS_KEY begin with it ({text})"
            ) from error
        if "WRONGTYPE" in text:
            raise FrontierError(
                f"a key of this crawl holds the wrong type: {text}. Something else writes to this namespace; "
                "rename FRONTIER_NAMESPACE or remove the key."
            ) from error
        if "NOAUTH" in text or "WRONGPASS" in text or "NOPERM" in text or "invalid username-password" in text:
            raise FrontierError(f"Redis refuses this user: {text}. Check the password and ACL in REDIS_URL.") from error
        raise FrontierError(f"Redis refuses the call: {text.rstrip('.')}.") from error
    except RedisError as error:
        raise FrontierUnavailable(f"Redis fails: {error}") from error


def _not_now(error: RedisError) -> FrontierUnavailable:
    return FrontierUnavailable(f"Redis takes no calls for now ({type(error).__name__}): {error}")
