"""Between ``scrapy.Request`` and what the frontier queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from spiders_project.errors import CodecError
from spiders_project.frontier import codec
from spiders_project.frontier.contract import Put

if TYPE_CHECKING:
    from scrapy import Spider

    from spiders_project.frontier.dupefilter import DupeFilter

DOWNLOAD_SLOT = "download_slot"


class AssignedSlot(str):
    """A download slot that Scrapy wrote into ``meta``; only one that an author set travels with the request (F25)."""

    __slots__ = ()


def assign_slot(request: Request) -> None:
    """Mark the slot that the downloader has just written, where it is only the host's name."""
    slot = request.meta.get(DOWNLOAD_SLOT)
    if slot is not None and slot == hostname(request):
        request.meta[DOWNLOAD_SLOT] = AssignedSlot(slot)


def hostname(request: Request) -> str:
    """The URL's host; empty for a URL without one."""
    return urlparse_cached(request).hostname or ""


class RequestCodec:
    """Turns requests of one spider into puts, and payloads into requests again."""

    def __init__(self, spider: Spider, dupefilter: DupeFilter, max_bytes: int) -> None:
        """``max_bytes`` is the most that one payload may take."""
        self._spider = spider
        self._dupefilter = dupefilter
        self._max_bytes = max_bytes

    def put_of(self, request: Request, *, force: bool = False) -> Put:
        """The put of ``request``; with ``force`` it is queued even when seen, and marked all the same.

        Raises:
            CodecError: It cannot be written.
        """
        meta = request.meta
        slot = meta.get(DOWNLOAD_SLOT)
        if type(slot) is AssignedSlot:
            meta = {name: value for name, value in meta.items() if name != DOWNLOAD_SLOT}
            slot = None
        mark = b"" if request.dont_filter and not force else self._dupefilter.mark_of(request)
        return Put(
            payload=codec.encode(self._fields(request, meta), self._max_bytes),
            host=slot or hostname(request),
            priority=int(request.priority),
            fingerprint=mark,
            force=force,
        )

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
