"""Stands between workers and Redis, and fails in every way that a network can."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

from spiders_project.frontier import scripts
from tests.crawl.in_thread import InThread

HOST = "127.0.0.1"


class Relay(InThread):
    """Forwards bytes to the server at ``target``, a URL; ``url`` leads there through this relay.

    Attributes:
        cuts: How many connections were cut between a script and its reply.
    """

    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = target
        self._port = 0
        self._armed: dict[bytes, int] = {}
        self.cuts = 0

    @property
    def url(self) -> str:
        parts = urlsplit(self._target)
        userinfo, _, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{userinfo}@{HOST}:{self._port}"))

    # ------------------------------------------------------------------ what a test does

    def point_to(self, target: str) -> None:
        """Forward to another server (same password) from now on; connections are cut."""
        self._target = target
        self.cut()

    def cut(self) -> None:
        """Cut every connection; new ones are taken."""
        self._do(self._cut())

    def refuse(self) -> None:
        """Cut every connection, and refuse new ones."""
        self._do(self._close())

    def accept(self) -> None:
        """Take connections again."""
        self._do(self._open())

    def cut_before_reply(self, script: str, times: int = 1) -> None:
        """Let the next ``times`` calls of a script run, and cut their connections before the replies."""
        self._armed[scripts.sha(script).encode()] = times

    @property
    def armed(self) -> bool:
        """Whether a call of ``cut_before_reply`` still waits for its script."""
        return any(self._armed.values())

    # ------------------------------------------------------------------ forwarding

    async def _open(self) -> None:
        self._port = await self._listen(HOST, self._port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self._target)
        to_server_reader, to_server = await asyncio.open_connection(parts.hostname, parts.port)
        doomed = asyncio.Event()
        pumps = [
            asyncio.ensure_future(self._pump(reader, to_server, doomed, requests=True)),
            asyncio.ensure_future(self._pump(to_server_reader, writer, doomed, requests=False)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            to_server.transport.abort()
            writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, doomed: asyncio.Event, *, requests: bool
    ) -> None:
        while data := await reader.read(1 << 16):
            if requests:
                self._look_for_script(data, doomed)
            elif doomed.is_set():
                self.cuts += 1
                return  # the script has run, and nobody will hear of it
            writer.write(data)
            await writer.drain()

    def _look_for_script(self, data: bytes, doomed: asyncio.Event) -> None:
        for sha, left in self._armed.items():
            if left and sha in data:
                self._armed[sha] = left - 1
                doomed.set()
