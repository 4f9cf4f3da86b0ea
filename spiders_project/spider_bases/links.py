"""Which URLs are worth a request: session ids out, endless URLs bounded.

The rules look at one URL, or at a link and the page that holds it; nothing is remembered. All workers
therefore decide alike, and a crawl that lost a worker decides as one that did not.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from urllib.parse import urlsplit

from scrapy.linkextractors import IGNORED_EXTENSIONS

#: A path with more segments is taken for one that grows for ever.
MAX_SEGMENTS = 20
#: A query with more parameters is taken for a combination of filters, one of millions.
MAX_PARAMETERS = 10
#: The same segment more often than this in one path: relative links that lead ever deeper (/a/a/a/a).
MAX_REPEATS = 3
#: How many links in a row may stay within one series: pages whose paths differ in numbers only (a calendar).
#: Below DEPTH_LIMIT, or a calendar would end there.
MAX_SERIES = 40

_SESSION_NAME = (
    r"(?:phpsessid|jsessionid|aspsessionid\w*|sessionid|session_id|sessid|sid|cfid|cftoken"
    r"|utm_\w+|gclid|dclid|fbclid|msclkid|yclid|mc_cid|mc_eid)"
)
_IN_PATH = re.compile(rf";{_SESSION_NAME}=[^/?#;]*", re.IGNORECASE)
_IN_QUERY = re.compile(rf"(?<=[?&]){_SESSION_NAME}=[^&#]*(?:&|(?=#|$))", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_BINARY = frozenset(f".{extension}" for extension in IGNORED_EXTENSIONS)


def without_session(url: str) -> str:
    """``url`` without session ids and campaign tags, which name a visit and not a page."""
    if "=" not in url:
        return url
    cleaned = _IN_QUERY.sub("", _IN_PATH.sub("", url))
    return url if cleaned == url else cleaned.replace("?#", "#").rstrip("?&")


def is_binary(url: str) -> bool:
    """Whether the path ends as images, archives and other files do that hold no text (Scrapy's own list)."""
    return posixpath.splitext(urlsplit(url).path)[1].lower() in _BINARY


def is_endless(url: str) -> bool:
    """Whether the URL looks as if it grew for ever: segments or parameters too many, or repeated."""
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    if len(segments) > MAX_SEGMENTS or parts.query.count("&") >= MAX_PARAMETERS:
        return True
    return len(segments) > MAX_REPEATS and max(Counter(segments).values()) > MAX_REPEATS


def shape(url: str) -> str:
    """The path with every number as 0 and the query left out: equal for all pages of one series."""
    return _DIGITS.sub("0", urlsplit(url).path)
