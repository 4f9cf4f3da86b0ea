"""A site with a known page set, and a log of who came when: what a whole crawl is measured against.

One asyncio server in a thread of its own listens on several loopback addresses, which are the site's hosts. Page ``n``
lives on host ``n % hosts`` and links to its children in a tree, to the first pages (navigation, seen a hundred
times), and to nothing else, so that a page is lost for good where its parent's links are.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.crawl.in_thread import InThread

if TYPE_CHECKING:
    from collections.abc import Callable

NAVIGATION = 3
TLS_HANDSHAKE = b"\x16"


@dataclass
class Reply:
    """What a path answers.

    Attributes:
        status: The HTTP status; 0 closes the connection without a word.
        body: The body.
        headers: Further headers.
        latency: Seconds before the first byte; a client that leaves meanwhile is not waited for.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    latency: float = 0.0


@dataclass
class Arrival:
    """A request as the server saw it; times are ``time.monotonic()``."""

    at: float
    host: str
    path: str
    end: float = 0.0


class Site(InThread):
    """``pages`` pages on ``hosts`` addresses; ``at[path]`` overrides what a path answers, by a Reply or a function.

    Args:
        pages: How many pages the tree has; page 0 is the root.
        hosts: How many loopback addresses it is spread over.
        fan: How many children a page links to.
        latency: Seconds before each answer.
        host_of: Which host (by number) a page lives on.
    """

    def __init__(
        self,
        pages: int = 100,
        *,
        hosts: int = 1,
        fan: int = 5,
        latency: float = 0.0,
        host_of: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__()
        self.pages = pages
        self.hosts = [f"127.0.0.{n + 1}" for n in range(hosts)]
        self.fan = fan
        self.latency = latency
        self._host_of = host_of or (lambda n: n % hosts)
        self.at: dict[str, Reply | Callable[[str], Reply]] = {}
        self.arrivals: list[Arrival] = []
        self.port = 0

    # ------------------------------------------------------------------ what there is

    def url(self, path: str | int, host: int = 0) -> str:
        """The URL of a page by its number, or of a path on a host."""
        if isinstance(path, int):
            return f"http://{self.hosts[self._host_of(path)]}:{self.port}/p/{path}"
        return f"http://{self.hosts[host]}:{self.port}{path}"

    @property
    def expected(self) -> set[str]:
        """Every page."""
        return {self.url(n) for n in range(self.pages)}

    def children(self, page: int) -> range:
        """The pages that only ``page`` (and the navigation) links to."""
        first = page * self.fan + 1
        return range(min(first, self.pages), min(first + self.fan, self.pages))

    def _page(self, number: int) -> bytes:
        links = [*range(min(NAVIGATION, self.pages)), *self.children(number)]
        anchors = "".join(f'<a href="{self.url(n)}">{n}</a>\n' for n in links)
        return f"<html><title>Page {number}</title><body>\n{anchors}</body></html>".encode()

    def _reply(self, host: str, path: str) -> Reply:
        own = self.at.get(path) or self.at.get(f"{host}{path}")
        if own is not None:
            return own(host) if callable(own) else own
        number = path.removeprefix("/p/")
        if number.isdigit() and int(number) < self.pages and self.hosts[self._host_of(int(number))] == host:
            return Reply(body=self._page(int(number)), latency=self.latency)
        return Reply(404, b"no such page")

    # ------------------------------------------------------------------ what was seen

    def seen(self, prefix: str = "/p/") -> list[Arrival]:
        """Arrivals at paths that begin with ``prefix``, in their order."""
        return [arrival for arrival in self.arrivals if arrival.path.startswith(prefix)]

    @property
    def fetched(self) -> Counter[str]:
        """URL of a page → how often it was fetched."""
        return Counter(f"http://{one.host}:{self.port}{one.path}" for one in self.seen())

    def spacings(self) -> dict[str, list[float]]:
        """Host → seconds between each two arrivals, whatever they wanted."""
        times = defaultdict(list)
        for arrival in self.arrivals:
            times[arrival.host].append(arrival.at)
        return {host: [b - a for a, b in itertools.pairwise(at)] for host, at in times.items()}

    def most_at_once(self, host: str) -> int:
        """The most requests of one host that were open at the same moment."""
        edges = [(one.at, 1) for one in self.arrivals if one.host == host]
        edges += [(one.end, -1) for one in self.arrivals if one.host == host and one.end]
        most = now = 0
        for _, step in sorted(edges):  # at the same instant the end comes first
            now += step
            most = max(most, now)
        return most

    # ------------------------------------------------------------------ serving

    async def _open(self) -> None:
        self.port = await self._listen(self.hosts[0])
        for host in self.hosts[1:]:
            await self._listen(host, self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await self._exchange(reader, writer):
            pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = await reader.readexactly(1)
        if first == TLS_HANDSHAKE:
            writer.write(b"no TLS here")
            return False
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        host = writer.get_extra_info("sockname")[0]
        arrival = Arrival(time.monotonic(), host, path)
        self.arrivals.append(arrival)
        try:
            reply = self._reply(host, path)
            if reply.latency:
                await asyncio.sleep(reply.latency)
            if not reply.status:
                return False
            headers = {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(reply.body)),
                **reply.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode() + reply.body)
            # Before the client can have the last byte: what it does next must not overlap with this.
            arrival.end = time.monotonic()
            await writer.drain()
            return True
        finally:
            arrival.end = arrival.end or time.monotonic()
