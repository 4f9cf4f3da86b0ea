"""One entry of a feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(slots=True, kw_only=True)
class FeedEntry:
    """An entry of an RSS or Atom feed, as ``feed`` stores it.

    Attributes:
        id: The entry's id within its feed; its URL where the feed gives no id.
        feed_url: The feed that holds it, canonicalised.
        url: The page that the entry announces, or None.
        title: Its title, or None.
        summary: Its summary, with the markup that feedparser considers safe, or None.
        published: When it was published; aware, UTC; None where the feed gives no readable time.
        updated: When it was last changed, likewise.
    """

    collection: ClassVar[str] = "feed_entries"
    key_fields: ClassVar[tuple[str, ...]] = ("feed_url", "id")
    volatile_fields: ClassVar[tuple[str, ...]] = ()

    id: str
    feed_url: str
    url: str | None = None
    title: str | None = None
    summary: str | None = None
    published: datetime | None = None
    updated: datetime | None = None
