"""A worker's settings as the frontier's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import _default_jitter, _slot_jitter

from spiders_project.frontier.contract import HostLimits, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spiders_project.config import Options

#: A crawl without MAX_IDLE_TIME_BEFORE_CLOSE has ended when it was empty so long, in seconds; its workers stay.
IDLE_SECONDS = 5


def terms_of(settings: Any, options: Options, spider: object, *, seeds_key: str, seeds_kind: str) -> Terms:
    """The terms of the crawl, from Scrapy's settings (which keep their names and meaning)."""
    jitter = _default_jitter(settings)  # also what the deprecated RANDOMIZE_DOWNLOAD_DELAY says
    default = HostLimits(
        delay_ms=settings.getfloat("DOWNLOAD_DELAY") * 1000,
        jitter=jitter,
        concurrency=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
    )
    slots: Mapping[str, Mapping[str, Any]] = settings.getdict("DOWNLOAD_SLOTS")
    own = {
        host: HostLimits(
            delay_ms=float(_given(slot, "delay", default.delay_ms / 1000)) * 1000,
            jitter=_slot_jitter(dict(slot), jitter),
            concurrency=int(_given(slot, "concurrency", default.concurrency)),
        )
        for host, slot in slots.items()
    }
    return Terms(
        limits=default,
        host_limits=own,
        order=options.frontier_order,
        max_idle_ms=(settings.getint("MAX_IDLE_TIME_BEFORE_CLOSE") or IDLE_SECONDS) * 1000,
        max_pages=getattr(spider, "max_pages", None) or 0,
        seeds_key=seeds_key,
        seeds_kind=seeds_kind,
        expire_ms=round(settings.getfloat("DUPEFILTER_EXPIRE_SECONDS") * 1000),
    )


def _given(slot: Mapping[str, Any], name: str, default: float) -> Any:
    value = slot.get(name)
    return default if value is None else value


def limits_of(terms: Terms, host: str) -> HostLimits:
    """What ``host`` allows."""
    return terms.host_limits.get(host, terms.limits)
