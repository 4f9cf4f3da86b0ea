"""Debian's python3-doc as a site: some thousand real pages on two loopback addresses, and which of them links reach."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from functools import cache, partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOC = Path("/usr/share/doc/python3.11/html")
PARTS = ("library/index.html", "index.html")  # one seed on each address
ADDRESSES = ("127.0.0.1", "127.0.0.2")
#: Sphinx writes every link so; html.parser finds the same ones in fifty times the time.
HREF = re.compile(r'<a\s[^>]*?\bhref="([^"]+)"')


@cache
def reachable(path: str) -> frozenset[str]:
    """The HTML and text files that links reach from ``path``, found with nothing but a regular expression."""
    base = "http://doc/"
    found, waiting = set(), [base + path]
    while waiting:
        url = waiting.pop()
        file = DOC / url.removeprefix(base)
        if url in found or not url.startswith(base) or not file.is_file() or file.suffix not in (".html", ".txt"):
            continue
        found.add(url)
        if file.suffix == ".html":
            links = {unescape(href).partition("#")[0] for href in HREF.findall(file.read_text())}
            waiting += [urljoin(url, link) for link in links]
    return frozenset(url.removeprefix(base) for url in found)


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


@contextmanager
def served() -> Iterator[list[str]]:
    """Serve the documentation; gives a seed for each address. Skips where it is not installed; fails in CI."""
    if not DOC.is_dir():
        message = f"{DOC} is missing: install Debian's python3-doc to crawl a real site"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    servers = [ThreadingHTTPServer((address, 0), partial(Quiet, directory=DOC)) for address in ADDRESSES]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield [
            f"http://{server.server_address[0]}:{server.server_port}/{part}"
            for server, part in zip(servers, PARTS, strict=True)
        ]
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def expected_pages(seeds: Sequence[str]) -> set[str]:
    """The pages that a crawl from ``seeds`` must store, no more and no fewer."""
    return {
        f"http://{urlsplit(seed).netloc}/{path}"
        for seed in seeds
        for path in reachable(urlsplit(seed).path.removeprefix("/"))
    }
