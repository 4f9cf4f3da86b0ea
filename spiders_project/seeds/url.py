"""Is this a URL that a crawl can begin with?"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from w3lib.url import safe_url_string

from spiders_project.errors import SeedError

if TYPE_CHECKING:
    from collections.abc import Collection

#: Longer URLs (characters, after percent-encoding) are refused: servers answer 414 well before.
MAX_URL_LENGTH = 8192

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SECOND_URL = re.compile(r"\s[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_MAX_HOST_LENGTH = 253


def check_url(url: str, allowed_schemes: Collection[str]) -> str:
    """The URL as ``scrapy.Request`` would normalise it.

    Spaces and characters outside ASCII are percent-encoded, a host outside ASCII becomes its IDNA form.

    Raises:
        SeedError: It is no URL with an allowed scheme and a host, or holds credentials.
    """
    if not url:
        raise SeedError("the URL is empty")
    if len(url) > MAX_URL_LENGTH:
        raise SeedError(f"the URL has {len(url):,} characters; at most {MAX_URL_LENGTH:,} are allowed")
    if control := _CONTROL.search(url):
        raise SeedError(f"the URL holds the control character {control[0]!r} at position {control.start()}")
    if _SECOND_URL.search(url):
        raise SeedError("more than one URL in an entry; push each as an entry of its own")
    _check_scheme(url, allowed_schemes)
    try:
        safe = safe_url_string(url)
        parts = urlsplit(safe)
        port = parts.port
    except ValueError as error:  # a port out of range, a broken IPv6 address, …
        raise SeedError(f"not a URL: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise SeedError(
            "the URL holds a user name or password, which would show in logs and items; "
            "send an 'Authorization' header instead"
        )
    if parts.scheme in {"http", "https"}:
        _check_host(parts)
    if port == 0:
        raise SeedError("port 0 cannot be reached")
    if len(safe) > MAX_URL_LENGTH:
        raise SeedError(f"the URL has {len(safe):,} characters when encoded; at most {MAX_URL_LENGTH:,} are allowed")
    return safe


def _check_scheme(url: str, allowed_schemes: Collection[str]) -> None:
    scheme = _SCHEME.match(url)
    # "localhost:8000/" and "example.com:80" have a port, not a scheme.
    if not scheme or ("://" not in url and re.match(r"\d+(/|$)", url[scheme.end() :])):
        raise SeedError(f"no scheme in {_short(url)}; write https://{_short(url.lstrip('/'))}")
    name = scheme[1].lower()
    if name not in allowed_schemes:
        raise SeedError(
            f"scheme {name!r} is not allowed; allowed are {', '.join(allowed_schemes)} (FRONTIER_ALLOWED_SCHEMES)"
        )
    if not url.startswith("//", scheme.end()):
        raise SeedError(f"{name}: must be followed by // and a host")


def _check_host(parts: SplitResult) -> None:
    host = parts.hostname
    if not host:
        raise SeedError("the URL has no host")
    if ":" in host:
        try:
            IPv6Address(host)
        except AddressValueError:
            raise SeedError(f"{_short(host)!r} is no IPv6 address") from None
    elif len(host) > _MAX_HOST_LENGTH or not _HOST.fullmatch(host):
        raise SeedError(f"{_short(host)!r} is no host name")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "…"  # noqa: PLR2004 - about a line of a log
