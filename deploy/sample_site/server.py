"""An HTTP/1.1 server for the sample site: asyncio in one thread, keep-alive, thousands of pages a second."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING

from deploy.sample_site.content import Site
from deploy.sample_site.reply import Reply

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

MAX_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True)
class Arrival:
    """One request: its target (path and query), ``time.monotonic()``, the number of its connection."""

    target: str
    time: float
    connection: int


class _Connection(asyncio.Protocol):
    """Answers the requests of one connection in order; they have no bodies."""

    transport: asyncio.Transport

    def __init__(self, site: SampleSite, number: int) -> None:
        self._site = site
        self._number = number
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._site.transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._site.transports.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while not self.transport.is_closing():
            head, end, rest = self._received.partition(b"\r\n\r\n")
            if not end:
                if len(head) > MAX_HEAD_BYTES:
                    self.transport.abort()
                return
            self._received = rest
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        line, _, headers = head.partition(b"\r\n")
        method, _, target = line.decode("latin-1").partition(" ")
        target = target.rpartition(" ")[0]
        self._site.arrivals.append(Arrival(target, time.monotonic(), self._number))
        reply = self._site.reply(target) if method in ("GET", "HEAD") else Reply(status=405, body=b"")
        if reply.reset:
            # Without waiting for what is unsent: the peer sees a reset, and not an end.
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
            return
        status = HTTPStatus(reply.status)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", f"Content-Length: {len(reply.body)}"]
        if reply.content_type:
            lines.append(f"Content-Type: {reply.content_type}")
        lines += [f"{name}: {value}" for name, value in reply.headers]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if method != "HEAD":
            self.transport.write(reply.body)
        if b"connection: close" in headers.lower():
            self.transport.close()


class SampleSite:
    """The running site; a context manager that stops it.

    Attributes:
        url: The first page, as ``http://127.0.0.1:41234/``.
        arrivals: Every request so far, in the order of arrival.
        transports: The open connections.
    """

    def __init__(self, host: str, port: int) -> None:
        self.arrivals: list[Arrival] = []
        self.transports: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        connections = count()
        self._server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Connection(self, next(connections)), host, port)
        )
        address = self._server.sockets[0].getsockname()
        self.url = f"http://{address[0]}:{address[1]}/"
        self._content = Site(self.url)
        self._thread = threading.Thread(target=self._loop.run_forever, name="sample-site", daemon=True)
        self._thread.start()

    def reply(self, target: str) -> Reply:
        """What the site answers to a path with its query."""
        return self._content.reply(target)

    def stop(self) -> None:
        """Close the port and every connection; a second call does nothing."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for transport in tuple(self.transports):
            transport.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(host: str = "127.0.0.1", port: int = 0) -> SampleSite:
    """Serve the site from a thread of this process.

    Args:
        host: The address to listen on.
        port: The port, or 0 for a free one.

    Raises:
        OSError: The address is in use or not this machine's.
    """
    return SampleSite(host, port)
