"""An asyncio server in a thread of its own, for what must answer while a test waits."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from typing_extensions import Self


class InThread:
    """Serves between the ends of ``with server.serving():``; a subclass opens its listeners in ``_open``."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def _open(self) -> None:
        raise NotImplementedError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until its end."""
        raise NotImplementedError

    @contextmanager
    def serving(self) -> Iterator[Self]:
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__)
        thread.start()
        try:
            self._do(self._open())
            yield self
        finally:
            self._do(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(10)
            self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Carry out ``work`` in the thread, and wait for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self, host: str, port: int = 0) -> int:
        server = await asyncio.start_server(self._connection, host, port, backlog=512, limit=1 << 20)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        await self._cut()

    async def _cut(self) -> None:
        """End every connection."""
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            # The peer may have gone, or been killed.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
