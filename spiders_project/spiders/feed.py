"""The entries of RSS and Atom feeds."""

from __future__ import annotations

from calendar import timegm
from datetime import datetime, timezone
from io import BytesIO
from typing import TYPE_CHECKING

import feedparser
from w3lib.url import canonicalize_url

from spiders_project.items import FeedEntry
from spiders_project.spider_bases import SharedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class FeedSpider(SharedSpider):
    """Seeds are feeds; their entries are stored, their pages are not fetched."""

    name = "feed"

    def parse(self, response: Response) -> Iterator[FeedEntry]:
        """Yield the entries of one feed; a document that is no feed is logged and counted."""
        # A stream, because feedparser takes bare bytes for the name of a file where there is such a file.
        feed = feedparser.parse(
            BytesIO(response.body),
            response_headers={
                "content-location": response.url,
                "content-type": (response.headers.get("Content-Type") or b"").decode("latin-1"),
            },
        )
        if not feed.version:
            self.logger.warning("no feed at %(url)s: skipped", {"url": response.url})
            self.count("feed/broken")
            return
        feed_url = canonicalize_url(response.url)
        for entry in feed.entries:
            entry_id = entry.get("id") or entry.get("link") or entry.get("title")
            if entry_id:
                yield FeedEntry(
                    id=entry_id,
                    feed_url=feed_url,
                    url=entry.get("link"),
                    title=entry.get("title"),
                    summary=entry.get("summary"),
                    published=_time(entry, "published_parsed"),
                    updated=_time(entry, "updated_parsed"),
                )


def _time(entry: feedparser.FeedParserDict, name: str) -> datetime | None:
    """The time tuple that feedparser gives, in UTC, as an aware datetime."""
    if name not in entry:  # get("updated_parsed") would answer with the time of publication
        return None
    try:
        return datetime.fromtimestamp(timegm(entry[name]), tz=timezone.utc)
    except (TypeError, ValueError, OverflowError):  # not understood, or a day that no calendar has
        return None
