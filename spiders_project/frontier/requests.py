"""Between ``scrapy.Request`` and what the frontier queues."""

from __future__ import annotations

import math
import random
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from spiders_project.errors import CodecError
from spiders_project.frontier import codec
from spiders_project.frontier.contract import Put

if TYPE_CHECKING:
    from scrapy import Spider

    from spiders_project.config import Options
    from spiders_project.frontier.dupefilter import DupeFilter

DOWNLOAD_SLOT = "download_slot"
#: In meta: a unix time (s) or an aware datetime before which the request is not to be crawled.
NOT_BEFORE = "not_before"
#: In meta: the ``retry_times`` for which the request has waited already; a copied meta waits no second time.
WAITED = "retry_waited"
#: In meta of a request that lives in one worker only: what waits for it; redirects and retries copy it along.
PARENT = "frontier_parent"


class AssignedSlot(str):
    """A download slot that Scrapy wrote into ``meta``; only one that an author set travels with the request (F25)."""

    __slots__ = ()


def host_of(request: Request) -> str:
    """The politeness unit: the slot that the spider's author chose, else the URL's host."""
    slot = request.meta.get(DOWNLOAD_SLOT)
    return hostname(request) if slot in (None, "") or type(slot) is AssignedSlot else str(slot)


def hostname(request: Request) -> str:
    """The URL's host; empty for a URL without one.

    Case, port and user name make no other host, and neither does the dot at the end of a whole domain name.
    """
    return (urlparse_cached(request).hostname or "").rstrip(".")


def _whole(meta: dict[str, Any], name: str) -> int:
    value = meta.get(name, 0)
    if not isinstance(value, int):
        raise CodecError(f"meta[{name!r}] is {value!r}, no whole number")
    return value


class RequestCodec:
    """Turns requests of one spider into puts, and payloads into requests again."""

    def __init__(self, spider: Spider, dupefilter: DupeFilter, options: Options) -> None:
        """``options`` bound the size of a payload and the time that a retry waits."""
        self._spider = spider
        self._dupefilter = dupefilter
        self._max_bytes = options.frontier_max_request_bytes
        self._backoff = options.retry_backoff_seconds
        self._backoff_max = options.retry_backoff_max_seconds

    def mark_of(self, request: Request) -> bytes:
        """By which the seen set knows ``request``; empty for one that is not filtered."""
        return b"" if request.dont_filter else self._dupefilter.mark_of(request)

    def put_of(self, request: Request, mark: bytes | None = None, *, force: bool = False) -> Put:
        """The put of ``request``, whose mark is known or not; with ``force`` it is queued even when seen, and marked.

        Raises:
            CodecError: It cannot be written.
        """
        meta = request.meta
        if type(meta.get(DOWNLOAD_SLOT)) is AssignedSlot:
            meta = {name: value for name, value in meta.items() if name != DOWNLOAD_SLOT}
        if PARENT in meta:
            meta = {name: value for name, value in meta.items() if name != PARENT}
        delay, meta = self._delay(meta)
        if mark is None:
            mark = self._dupefilter.mark_of(request) if force else self.mark_of(request)
        return Put(
            payload=codec.encode(self._fields(request, meta), self._max_bytes),
            host=host_of(request),
            priority=int(request.priority),
            fingerprint=mark,
            force=force,
            delay_ms=delay,
        )

    def wait_of(self, request: Request) -> float:
        """How long a request that stays in this worker is to wait, in seconds; noted in its meta, to wait but once."""
        try:
            delay, meta = self._delay(dict(request.meta))
        except CodecError:
            return 0.0  # what it says of its wait is what could not be written
        request.meta.clear()
        request.meta.update(meta)
        return delay / 1000

    def _delay(self, meta: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """How long the request is to wait, in ms, and its meta without the wish to.

        Retries, whoever made them (the middleware, ``get_retry_request``), back off exponentially with full jitter
        (M. Brooker, "Exponential Backoff And Jitter", 2015).
        """
        delay = 0.0
        times = _whole(meta, "retry_times")
        if times and meta.get(WAITED) != times:
            delay = random.uniform(0, min(self._backoff_max, self._backoff * 2 ** min(times - 1, 30)))  # noqa: S311
            meta = {**meta, WAITED: times}
        if NOT_BEFORE in meta:
            when = meta[NOT_BEFORE]
            if isinstance(when, datetime):
                when = when.timestamp()
            elif not isinstance(when, int | float) or not math.isfinite(when):
                raise CodecError(f"meta[{NOT_BEFORE!r}] is {when!r}, neither a unix time nor a datetime")
            delay = max(delay, when - time.time())
            meta = {name: value for name, value in meta.items() if name != NOT_BEFORE}
        return round(max(0.0, delay) * 1000), meta

    def _fields(self, request: Request, meta: dict[str, Any]) -> dict[str, Any]:
        spider = self._spider
        # A class may have attributes of its own (as JsonRequest's dumps_kwargs); plain requests need not be asked.
        plain = type(request) is Request
        fields = {} if plain else {name: getattr(request, name) for name in request.attributes}
        fields.update(
            url=request.url,
            callback=codec.method_name(spider, request.callback) if callable(request.callback) else None,
            errback=codec.method_name(spider, request.errback) if callable(request.errback) else None,
            method=request.method,
            headers=dict(request.headers),
            body=request.body,
            cookies=request.cookies,
            meta=meta,
            cb_kwargs=request.cb_kwargs,
            priority=request.priority,
            dont_filter=request.dont_filter,
            encoding=request.encoding,
            flags=request.flags,
        )
        if not plain:
            fields["_class"] = f"{type(request).__module__}.{type(request).__qualname__}"
        return fields

    def request_of(self, payload: bytes) -> Request:
        """The request in ``payload``, its callbacks bound to the spider.

        Raises:
            CodecError: It is none, or names what this version of the spider does not have.
        """
        fields = codec.decode(payload)
        cls: type[Request] = codec.class_of(fields.pop("_class"), Request) if "_class" in fields else Request
        for name in ("callback", "errback"):
            if name in fields:
                fields[name] = codec.method_of(self._spider, fields[name])
        try:
            return cls(**fields)
        except (TypeError, ValueError, AttributeError) as error:
            raise CodecError(f"no request: {error}") from error
