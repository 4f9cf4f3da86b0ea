"""The dupefilter: what Scrapy knows of the seen set.

Testing and marking happen in Redis, in the same atomic step as queueing (I2), so this class asks Redis nothing. It
gives fingerprints, remembers a bounded number of them as known, and logs what was dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_redis.dupefilter import RFPDupeFilter

from spiders_project.errors import FrontierError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.request import RequestFingerprinterProtocol

#: Bytes of a fingerprint that the seen set keeps: with n URLs seen, the chance that any two of them collide is about
#: n² / 2⁶⁵, which is 1 in 37 million at 1 M URLs and 1 in 3,700 at 100 M.
FINGERPRINT_BYTES = 8


class DupeFilter(RFPDupeFilter):  # type: ignore[misc]  # scrapy-redis ships no types
    """scrapy-redis's dupefilter over the frontier's own seen set."""

    def __init__(
        self, fingerprinter: RequestFingerprinterProtocol, *, memory: int = 100_000, debug: bool = False
    ) -> None:
        """``memory`` is how many fingerprints are remembered as known."""
        super().__init__(server=None, key="", debug=debug)
        self._fingerprinter = fingerprinter
        self._memory = memory
        self._known: dict[bytes, None] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        """Build it with the crawler's fingerprinter (``REQUEST_FINGERPRINTER_CLASS``)."""
        return cls(
            crawler.request_fingerprinter,
            memory=crawler.settings.getint("FRONTIER_LOCAL_SEEN", 100_000),
            debug=crawler.settings.getbool("DUPEFILTER_DEBUG"),
        )

    def request_fingerprint(self, request: Request) -> bytes:
        """The whole fingerprint, as the crawler's fingerprinter gives it."""
        return self._fingerprinter.fingerprint(request)

    def mark_of(self, request: Request) -> bytes:
        """The part of the fingerprint that the seen set keeps."""
        return self.request_fingerprint(request)[:FINGERPRINT_BYTES]

    def known(self, mark: bytes) -> bool:
        """Whether ``mark`` is remembered as seen; False says nothing."""
        return mark in self._known

    def remember(self, mark: bytes) -> None:
        """Remember ``mark`` as seen; the oldest is forgotten where memory ends."""
        if not self._memory:
            return
        if len(self._known) >= self._memory:
            del self._known[next(iter(self._known))]
        self._known[mark] = None

    def forget(self) -> None:
        """Empty the memory, not the seen set."""
        self._known.clear()

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
        super().log(request, spider)
        spider.crawler.stats.inc_value("dupefilter/filtered")
