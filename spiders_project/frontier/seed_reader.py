"""Seeds become requests: each entry alone, a bad one set aside with its reason."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from scrapy import Request

from spiders_project import statnames as stat
from spiders_project.errors import CodecError, SeedError
from spiders_project.frontier.contract import SeedVerdict
from spiders_project.frontier.patience import patiently
from spiders_project.seeds.request import to_request
from spiders_project.seeds.schema import parse

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from spiders_project.frontier.contract import Frontier
    from spiders_project.frontier.requests import RequestCodec

logger = logging.getLogger(__name__)


class SeedReader:
    """Moves entries of ``start_urls`` into the frontier, a batch at a time."""

    def __init__(
        self, crawler: Crawler, frontier: Frontier, codec: RequestCodec, *, batch: int, schemes: Collection[str]
    ) -> None:
        """``batch`` is how many entries are moved in one step, ``schemes`` what a seed's URL may begin with."""
        assert crawler.spider is not None
        self._stats = crawler.stats
        self._spider: Spider = crawler.spider
        self._frontier = frontier
        self._codec = codec
        self._batch = batch
        self._schemes = schemes

    async def read(self) -> None:
        """Move one batch.

        Raises:
            FrontierError: Redis answers, and will not do what was asked.
        """
        entries = await patiently(lambda: self._frontier.peek_seeds(self._batch))
        verdicts = [self._verdict(entry) for entry in entries]
        if verdicts:
            queued = await patiently(lambda: self._frontier.take_seeds(verdicts))
            self._stats.inc_value(stat.SEEDS_QUEUED, queued)

    def _verdict(self, entry: bytes) -> SeedVerdict:
        try:
            requests = self._requests(entry)
            puts = [self._codec.put_of(request, force=True) for request in requests]
        except (SeedError, CodecError) as error:
            return self._rejected(entry, str(error))
        except Exception as error:
            # The spider's own make_request_from_data may raise anything; the neighbours must not suffer.
            logger.exception("Seed %(entry)r", {"entry": entry}, extra={"spider": self._spider})
            return self._rejected(entry, f"{type(error).__name__}: {error}")
        pages = [request.meta.get("max_pages") for request in requests]
        return SeedVerdict(entry, puts, max_pages=max((n for n in pages if isinstance(n, int)), default=0))

    def _requests(self, entry: bytes) -> list[Request]:
        if not getattr(self._spider, "reads_own_seeds", False):
            encoding = getattr(self._spider, "redis_encoding", None) or "utf-8"
            if encoding.lower() not in ("utf-8", "utf8"):
                entry = entry.decode(encoding, "replace").encode()
            return [to_request(parse(entry, allowed_schemes=self._schemes), self._spider)]
        made = self._spider.make_request_from_data(entry)  # type: ignore[attr-defined] # scrapy-redis's own hook
        requests = list(made) if isinstance(made, Iterable) else [made] if made is not None else []
        if not requests or not all(isinstance(request, Request) for request in requests):
            raise SeedError("the spider's make_request_from_data made no request of it")
        return requests

    def _rejected(self, entry: bytes, reason: str) -> SeedVerdict:
        self._stats.inc_value(stat.SEEDS_REJECTED)
        logger.warning(
            "Not a seed, set aside: %(entry)r: %(reason)s",
            {"entry": entry[:500], "reason": reason},
            extra={"spider": self._spider},
        )
        text = entry.decode("utf-8", "backslashreplace")
        time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return SeedVerdict(entry, rejected=json.dumps({"entry": text, "reason": reason, "time": time}).encode())
