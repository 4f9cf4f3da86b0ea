"""One page of a site."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(slots=True, kw_only=True)
class Page:
    """An HTML or plain-text page, as ``site`` and ``sitemap`` store it.

    Attributes:
        url: The response's URL, canonicalised, without fragment; never what the page says of itself.
        requested_url: The URL that led here, before redirects.
        status: The HTTP status.
        content_type: The media type, without parameters: ``text/html``.
        language: The language that the page or its headers declare, or None.
        title: The text of ``<title>``, or None.
        description: The page's meta description, or None.
        h1: The first heading, or None.
        text: The main text, a line a block; navigation and scripts left out.
        links: Absolute http(s) URLs that the page links to, each once, followed or not; at most 1,000.
        metadata: ``json_ld``, a list of objects, and ``open_graph``, property → content.
        depth: How many links lie between the seed and this page.
        referer: The page that linked here, or None for a seed.
        lastmod: What the sitemap says of the last change, as it says it; None without a sitemap.
        fetched_at: When the page was read; aware, UTC.
        content_hash: SHA-256 of all fields but the volatile ones, in hex: equal when the page has not changed.
            The storage goes by it. Made from the other fields.
    """

    collection: ClassVar[str] = "pages"
    key_fields: ClassVar[tuple[str, ...]] = ("url",)
    volatile_fields: ClassVar[tuple[str, ...]] = ("requested_url", "depth", "referer", "fetched_at")

    url: str
    requested_url: str
    status: int
    content_type: str
    language: str | None = None
    title: str | None = None
    description: str | None = None
    h1: str | None = None
    text: str = ""
    links: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    depth: int = 0
    referer: str | None = None
    lastmod: str | None = None
    fetched_at: datetime
    content_hash: str = field(init=False)

    def __post_init__(self) -> None:
        matters = [getattr(self, name) for name in _MATTERS]
        text = json.dumps(matters, sort_keys=True, default=str)
        self.content_hash = hashlib.sha256(text.encode()).hexdigest()


_MATTERS = tuple(
    one.name for one in fields(Page) if one.name not in {*Page.volatile_fields, *Page.key_fields, "content_hash"}
)
