"""One response, parsed once: what it says, where it links, what it asks of robots."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from scrapy.http import HtmlResponse, TextResponse
from scrapy.utils.response import get_base_url
from w3lib.url import canonicalize_url, safe_url_string

from spiders_project.items import Page
from spiders_project.spider_bases.links import without_session
from spiders_project.spider_bases.main_text import MAX_TEXT, main_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement
    from scrapy.http import Response

#: Links kept in an item; following has no such bound.
MAX_LINKS_KEPT = 1_000

_LINKING = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
#: A path from the root on in which urljoin would change nothing: no dot segments, no empty query.
_FROM_ROOT = re.compile(r"(?!//)(?:[\w%~+,:@=&-]|(?<!/)[.]|/(?!/))+(?:[?][\w%~+,:@=&./-]+)?\Z(?<=[\w/])", re.ASCII)
_NEEDS_QUOTING = re.compile(r"[^!#-;=?-Z\[\]_a-z~%]")
_OPEN_GRAPH = ("og:", "product:", "article:", "book:", "profile:", "music:", "video:")


class Link(NamedTuple):
    """A link of a page: an absolute http(s) URL without fragment and session id; nofollow as its rel says."""

    url: str
    nofollow: bool


class Document:
    """An HTML or plain-text response. Nothing here raises because of what a server sent.

    Make one with ``Document.of``, which answers None for anything else (images, PDF, JSON, XML).
    """

    def __init__(self, response: TextResponse) -> None:
        self.response = response
        self.is_html = isinstance(response, HtmlResponse)

    @classmethod
    def of(cls, response: Response) -> Document | None:
        """The document in ``response``, or None where it is neither HTML nor plain text."""
        if isinstance(response, TextResponse) and (
            isinstance(response, HtmlResponse) or media_type(response) in ("", "text/plain")
        ):
            return cls(response)
        return None

    @cached_property
    def root(self) -> HtmlElement:
        """The parsed page, shared with ``response.css`` and ``response.xpath``."""
        try:
            return self.response.selector.root
        except (UnicodeError, LookupError, ValueError):
            # The declared charset is none of texts ("hex"), or makes half characters ("utf-7").
            self.response = self.response.replace(encoding="utf-8")
            return self.response.selector.root

    @cached_property
    def meta(self) -> dict[str, list[str]]:
        """The page's ``<meta>`` elements: name, property or http-equiv in lower case → contents in order."""
        found: dict[str, list[str]] = {}
        for element in self.root.iter("meta"):
            name = element.get("name") or element.get("property") or element.get("http-equiv")
            content = element.get("content")
            if name and content:
                found.setdefault(name.strip().lower(), []).append(content.strip())
        return found

    @cached_property
    def robots(self) -> frozenset[str]:
        """What ``<meta name=robots>`` and X-Robots-Tag ask of every robot, as ``noindex``.

        Directives for one named robot (``googlebot: noindex``) are for that robot.
        """
        values = [value.decode("latin-1") for value in self.response.headers.getlist("X-Robots-Tag")]
        values = [value for value in values if ":" not in value.partition(",")[0]]
        if self.is_html:
            values += self.meta.get("robots", [])
        directives = {word.strip().lower() for value in values for word in value.split(",")}
        return frozenset(directives | {"noindex", "nofollow"} if "none" in directives else directives)

    @cached_property
    def links(self) -> list[Link]:
        """Every link of the page, each URL once; it is nofollow only where all its anchors say so."""
        if not self.is_html:
            return []
        nofollow_by_url: dict[str, bool] = {}
        for href, nofollow in self._hrefs():
            url = self._absolute(href)
            if url:
                nofollow_by_url[url] = nofollow_by_url.get(url, True) and nofollow
        return [Link(url, nofollow) for url, nofollow in nofollow_by_url.items()]

    def _hrefs(self) -> Iterator[tuple[str, bool]]:
        seen: set[tuple[str, bool]] = set()
        for element in self.root.iter(*_LINKING):
            href = element.get(_LINKING[str(element.tag)])
            if href is None:
                continue
            href = href.strip().partition("#")[0]
            found = (href, "nofollow" in element.get("rel", "").lower().split())
            if href and found not in seen:
                seen.add(found)
                yield found

    @cached_property
    def _base_url(self) -> str:
        return get_base_url(self.response)

    @cached_property
    def _origin(self) -> str:
        return urljoin(self._base_url, "/").removesuffix("/")

    def _absolute(self, href: str) -> str | None:
        try:
            # Most links of most sites lead from the root on: said in a fifth of urljoin's time.
            from_root = href[0] == "/" and _FROM_ROOT.match(href)
            url = self._origin + href if from_root else urljoin(self._base_url, href)
            if not url.startswith(("http://", "https://")):
                return None
            if _NEEDS_QUOTING.search(url):
                url = safe_url_string(url, self.response.encoding)
        except (ValueError, LookupError):  # no URL at all, as "http://[1"
            return None
        return without_session(url)

    def page(self, lastmod: str | None = None) -> Page:
        """The item; ``lastmod`` is what a sitemap said of it."""
        response = self.response
        assert response.request is not None
        text = main_text(self.root, len(response.body)) if self.is_html else self._plain_text()
        referer = response.request.headers.get("Referer")
        return Page(
            url=canonicalize_url(response.url),
            requested_url=response.meta.get("redirect_urls", [response.request.url])[0],
            status=response.status,
            content_type=media_type(response) or "text/html",
            language=self._language(),
            title=self._text_of("title"),
            description=self.meta.get("description", [None])[0] if self.is_html else None,
            h1=self._text_of("h1"),
            text=text,
            links=[link.url for link in self.links[:MAX_LINKS_KEPT]],
            metadata={"json_ld": self._json_ld(), "open_graph": self._open_graph()} if self.is_html else {},
            depth=response.meta.get("depth", 0),
            referer=referer.decode("latin-1") if referer else None,
            lastmod=lastmod,
            fetched_at=datetime.now(timezone.utc),
        )

    def _plain_text(self) -> str:
        try:
            text = self.response.text
        except (UnicodeError, LookupError):
            text = self.response.body.decode(errors="replace")
        return text.replace("\x00", "")[:MAX_TEXT]

    def _text_of(self, tag: str) -> str | None:
        element = next(self.root.iter(tag), None) if self.is_html else None
        text = "" if element is None else " ".join("".join(element.itertext()).split())
        return text or None

    def _language(self) -> str | None:
        if self.is_html:
            page = next(self.root.iter("html"), self.root)
            declared = (
                page.get("lang") or page.get("{http://www.w3.org/XML/1998/namespace}lang") or page.get("xml:lang")
            )
            if declared:
                return declared.strip() or None
            if "content-language" in self.meta:
                return self.meta["content-language"][0]
        header = self.response.headers.get("Content-Language")
        return header.decode("latin-1").strip() if header else None

    def _json_ld(self) -> list[Any]:
        objects: list[Any] = []
        for script in self.root.iter("script"):
            if script.get("type", "").strip().lower() == "application/ld+json":
                try:
                    data = _parsed(script.text or "")
                except (ValueError, RecursionError):
                    continue  # broken JSON-LD is common, and the page is worth keeping without it
                objects.extend(data if isinstance(data, list) else [data])
        return objects

    def _open_graph(self) -> dict[str, str]:
        return {name: values[0] for name, values in self.meta.items() if name.startswith(_OPEN_GRAPH)}


def _parsed(text: str) -> Any:
    """The JSON in ``text``; halves of surrogate pairs, which no encoding can write, become "?"."""
    data = json.loads(text)
    if "\\ud" in text.lower():
        data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    return data


def media_type(response: Response) -> str:
    """The declared media type, in lower case and without parameters; empty where there is none."""
    header = response.headers.get("Content-Type")
    return header.decode("latin-1").partition(";")[0].strip().lower() if header else ""
