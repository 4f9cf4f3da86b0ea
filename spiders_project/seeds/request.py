"""From a seed to a ``scrapy.Request``: the one module of this room that knows Scrapy."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from spiders_project.errors import SeedError

if TYPE_CHECKING:
    from spiders_project.seeds.schema import Seed


def to_request(seed: Seed, spider: Spider) -> Request:
    """The request of ``seed``; its callback is a bound method of ``spider``.

    Raises:
        SeedError: The spider has no such callback.
    """
    fields = seed.to_request_dict()
    if fields["callback"] is not None:
        fields["callback"] = _callback(spider, fields["callback"])
    return Request(**fields)


def callbacks(spider: Spider) -> list[str]:
    """Names that a seed may use as its callback: methods of the spider that are not Scrapy's own machinery.

    Seeds come from Redis, so a name must not reach ``close``, ``update_settings`` and their like.
    """
    return sorted(name for name in dir(type(spider)) if _is_callback(type(spider), name))


def _callback(spider: Spider, name: str) -> Any:
    if not _is_callback(type(spider), name):
        known = ", ".join(callbacks(spider)) or "none"
        raise SeedError(f"spider {spider.name!r} has no callback {name!r}; its callbacks are {known}")
    return getattr(spider, name)


def _is_callback(cls: type[Spider], name: str) -> bool:
    owners = [owner for owner in cls.__mro__ if name in vars(owner)]
    if not owners or name.startswith("__"):
        return False
    # What Scrapy's own classes define is machinery, also where the spider overrides it; parse is a callback.
    own = [owner for owner in owners if not _is_scrapys(owner)]
    if not own or (len(own) < len(owners) and name != "parse"):
        return False
    method = vars(own[0])[name]
    if not inspect.isfunction(method):
        return False
    positional = [p for p in inspect.signature(method).parameters.values() if p.kind <= p.VAR_POSITIONAL]
    return len(positional) > 1


def _is_scrapys(cls: type) -> bool:
    return cls is object or cls.__module__.partition(".")[0] in {"scrapy", "scrapy_redis"}
