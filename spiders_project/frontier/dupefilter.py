"""The dupefilter: what Scrapy knows of the seen set.

Testing and marking happen in Redis, in the same atomic step as queueing (I2), so this class asks Redis nothing. It
gives fingerprints, remembers a bounded number of them as known, and logs what was dropped.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import RequestFingerprinter
from scrapy_redis.dupefilter import RFPDupeFilter

from spiders_project.errors import FrontierError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.request import RequestFingerprinterProtocol

#: Bytes of a fingerprint that the seen set keeps: with n URLs seen, the chance that any two of them collide is about
#: n² / 2⁶⁵, which is 1 in 37 million at 1 M URLs and 1 in 3,700 at 100 M.
FINGERPRINT_BYTES = 8


class DupeFilter(RFPDupeFilter):  # type: ignore[misc]  # scrapy-redis ships no types
    """scrapy-redis's dupefilter over the frontier's own seen set."""

    def __init__(
        self, fingerprinter: RequestFingerprinterProtocol, *, memory: int, expire: float = 0, debug: bool = False
    ) -> None:
        """``memory`` is how many fingerprints are remembered as known, ``expire`` for how long (s); 0: for ever."""
        super().__init__(server=None, key="", debug=debug)
        self._fingerprinter = fingerprinter
        self._memory = memory
        self._expire = expire
        self._since = time.monotonic()
        self._known: OrderedDict[bytes, None] = OrderedDict()
        #: URLs whose plain GET request is remembered as seen; links to them need no ``Request`` to be dropped.
        self.known_urls: OrderedDict[str, None] = OrderedDict()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        """Build it with the crawler's fingerprinter (``REQUEST_FINGERPRINTER_CLASS``)."""
        return cls(
            crawler.request_fingerprinter,
            memory=crawler.settings.getint("FRONTIER_LOCAL_SEEN", 100_000),
            expire=crawler.settings.getfloat("DUPEFILTER_EXPIRE_SECONDS"),
            debug=crawler.settings.getbool("DUPEFILTER_DEBUG"),
        )

    def request_fingerprint(self, request: Request) -> bytes:
        """The whole fingerprint, as the crawler's fingerprinter gives it."""
        return self._fingerprinter.fingerprint(request)

    def later(self, request: Request) -> Callable[[], bytes]:
        """What gives the fingerprint of ``request`` when somebody asks, as it is now.

        Scrapy's own fingerprinter looks at nothing that a middleware changes; another's is asked at once.
        """
        if type(self._fingerprinter) is RequestFingerprinter:
            return partial(self._fingerprinter.fingerprint, request)
        fingerprint = self.request_fingerprint(request)
        return lambda: fingerprint

    def mark_of(self, request: Request) -> bytes:
        """The part of the fingerprint that the seen set keeps."""
        return self._fingerprinter.fingerprint(request)[:FINGERPRINT_BYTES]

    def known(self, mark: bytes) -> bool:
        """Whether ``mark`` is remembered as seen; False says nothing."""
        if self._expire and time.monotonic() - self._since > self._expire:
            self.forget()
        return mark in self._known

    def remember(self, mark: bytes, request: Request | None = None) -> None:
        """Remember ``mark`` as seen, and the URL of a plain ``request``; the oldest is forgotten where memory ends."""
        _add(self._known, mark, self._memory)
        if request is not None and request.method == "GET" and not request.body:
            _add(self.known_urls, request.url, self._memory)

    def forget(self) -> None:
        """Empty the memory, not the seen set."""
        self._since = time.monotonic()
        self._known.clear()
        self.known_urls.clear()

    def request_seen(self, request: Request) -> bool:
        """Whether this worker knows the request as seen; Redis answers for the others, when it is queued."""
        return self.known(self.mark_of(request))

    def close(self, reason: str = "") -> None:
        """Delete nothing: other workers need the seen set."""

    def clear(self) -> None:
        """Refuse: forgetting a crawl is a command of its own."""
        raise FrontierError("the seen set belongs to all workers: use `scrapy frontier purge` to forget a crawl")

    def log(self, request: Request, spider: Any) -> None:
        """Log a dropped request as scrapy-redis does, and count it as Scrapy does."""
        if self.debug or self.logdupes:  # else it has no more to say, and a page has twenty known links
            super().log(request, spider)
        spider.crawler.stats.inc_value("dupefilter/filtered")


def _add(memory: OrderedDict[Any, None], key: Any, most: int) -> None:
    if most <= 0:
        return
    if len(memory) >= most:
        memory.popitem(last=False)  # a plain dict looks for its first key among all that have gone
    memory[key] = None
