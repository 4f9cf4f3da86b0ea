"""What scrapy-redis's settings say: where Redis is, and where the seeds are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from spiders_project.errors import ConfigError
from spiders_project.settingtypes import DEFAULT_REDIS_URL, flag, load, split

if TYPE_CHECKING:
    from collections.abc import Mapping


def redis_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for ``redis.Redis.from_url``, or without ``url`` for ``redis.Redis``.

    REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB, REDIS_ENCODING and REDIS_PARAMS mean what they mean to
    scrapy-redis, where a URL goes before the rest. Only our default, which nobody chose, gives way to them.
    """
    parameters: dict[str, Any] = dict(load(settings.get("REDIS_PARAMS")) or {})
    for name, kind in {"host": str, "port": int, "db": int, "encoding": str}.items():
        value = settings.get(f"REDIS_{name.upper()}")
        if value not in (None, ""):
            parameters[name] = kind(str(value))
    url = settings.get("REDIS_URL") or DEFAULT_REDIS_URL
    if url != DEFAULT_REDIS_URL or not {"host", "port", "db", "unix_socket_path"} & parameters.keys():
        parameters["url"] = str(url)
    return parameters


def json_object(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The setting ``name``, a dict or a JSON object; empty where it is not set."""
    return dict(load(settings.get(name)) or {})


def sentinel_addresses(settings: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Where the sentinels are: REDIS_SENTINELS, ``host:port`` each, separated by commas.

    Raises:
        ConfigError: One is no address.
    """
    addresses = []
    for address in split(settings.get("REDIS_SENTINELS") or []):
        host, _, port = str(address).rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"REDIS_SENTINELS has {address!r}: it should be host:port, as 10.0.0.5:26379")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def start_urls_key(settings: Mapping[str, Any], namespace: str) -> str:
    """The key of the seeds: REDIS_START_URLS_KEY, whose ``%(name)s`` is the crawl's namespace."""
    return str(settings.get("REDIS_START_URLS_KEY") or "%(name)s:start_urls") % {"name": namespace}


def start_urls_kind(settings: Mapping[str, Any]) -> Literal["list", "set", "zset"]:
    """The type of that key, by scrapy-redis's settings; a set goes before a sorted set, as there."""
    if flag(settings.get("REDIS_START_URLS_AS_SET") or False):
        return "set"
    return "zset" if flag(settings.get("REDIS_START_URLS_AS_ZSET") or False) else "list"
