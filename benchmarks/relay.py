"""A TCP relay that adds a round trip to Redis, and counts what the client sends.

``python -m benchmarks.relay`` runs it in a process of its own, so that it takes no time from a worker. The kernel of
many machines has no netem; here each reply is held back by the whole addition, which a client cannot tell from a
longer way there and back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import selectors
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import redis

from benchmarks.errors import BenchError
from benchmarks.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
HOST = "127.0.0.1"
PINGS = 300


@dataclass
class Counts:
    """What clients have sent through a relay.

    Attributes:
        commands: Commands, also those that travelled together.
        round_trips: How often a client spoke after it had been answered, or for the first time.
        sent: Bytes to the server.
        received: Bytes from the server.
    """

    commands: int = 0
    round_trips: int = 0
    sent: int = 0
    received: int = 0


class CommandCounter:
    """Counts commands of Redis's protocol (RESP arrays of bulk strings) in a stream of bytes."""

    def __init__(self) -> None:
        self._buffer = b""
        self._parts = 0  # of the present command that are still to come
        self._skip = 0  # bytes of the present part that are still to come

    def feed(self, data: bytes) -> int:
        """How many commands begin in ``data``, which goes on where the last ended."""
        begun = 0
        self._buffer += data
        while True:
            if self._skip:
                taken = min(self._skip, len(self._buffer))
                self._buffer = self._buffer[taken:]
                self._skip -= taken
            line, end, rest = self._buffer.partition(b"\r\n")
            if self._skip or not end:
                return begun
            self._buffer = rest
            if self._parts:
                self._parts -= 1
                self._skip = int(line[1:]) + 2
            else:
                begun += 1
                self._parts = int(line[1:])


class _Server(asyncio.Protocol):
    """The connection to the server; holds each reply back until it is due."""

    def __init__(self, client: _Client, delay: float) -> None:
        self._client = client
        self._delay = delay
        self._held: deque[bytes] = deque()

    def data_received(self, data: bytes) -> None:
        self._client.counts.received += len(data)
        self._client.answered = True
        if not self._delay:
            self._client.transport.write(data)
            return
        self._held.append(data)
        asyncio.get_running_loop().call_later(self._delay, self._release)

    def _release(self) -> None:
        # The timers of a loop may fire in any order where they are due together; the bytes keep theirs.
        self._client.transport.write(self._held.popleft())

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's interface
        self._client.transport.close()


class _Client(asyncio.Protocol):
    """The connection of a client."""

    transport: Any

    def __init__(self, host: str, port: int, delay: float, counts: Counts) -> None:
        self._target = (host, port)
        self._delay = delay
        self.counts = counts
        self.answered = True
        self._counter = CommandCounter()
        self._server: Any = None
        self._early: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._task = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._server, _ = await loop.create_connection(lambda: _Server(self, self._delay), *self._target)
        for data in self._early:
            self._server.write(data)

    def data_received(self, data: bytes) -> None:
        self.counts.sent += len(data)
        self.counts.round_trips += self.answered
        self.answered = False
        self.counts.commands += self._counter.feed(data)
        if self._server is None:
            self._early.append(data)
        else:
            self._server.write(data)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's interface
        if self._server is not None:
            self._server.close()


class Relay:
    """The bench's side of a relay that runs in a process of its own.

    Attributes:
        url: The server's URL through the relay.
        added: Seconds that the relay adds to a round trip, as measured.
    """

    def __init__(self, target: str, process: subprocess.Popen[str]) -> None:
        self._process = process
        parts = urlsplit(target)
        userinfo, _, _ = parts.netloc.rpartition("@")
        port = int(self._answer())
        self.url = urlunsplit(parts._replace(netloc=f"{userinfo}@{HOST}:{port}" if userinfo else f"{HOST}:{port}"))
        self.added = 0.0

    def counts(self) -> Counts:
        """What has gone through it so far."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Counts(**json.loads(self._answer()))

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise BenchError("the relay to Redis ended by itself")
        return line


@contextmanager
def relaying(target: str, delay: float = 0.0) -> Iterator[Relay]:
    """A relay that holds each reply back for ``delay`` seconds, until the end of the block."""
    parts = urlsplit(target)
    command = [sys.executable, "-m", "benchmarks.relay", f"{parts.hostname}:{parts.port}", repr(delay)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            yield Relay(target, process)
        finally:
            process.terminate()


@contextmanager
def farther(target: str, addition: float) -> Iterator[Relay]:
    """A relay by which the round trip takes ``addition`` seconds longer; ``added`` of it says what PING finds."""
    with relaying(target) as bare:
        delay = addition - added(target, bare.url)
    with relaying(target, max(0.0, delay)) as first:
        # Timers are late by a slack that the first look did not see.
        delay -= added(target, first.url) - addition
    with relaying(target, max(0.0, delay)) as relay:
        relay.added = added(target, relay.url)
        yield relay


def added(near: str, far: str) -> float:
    """By how many seconds the median PING of ``far`` takes longer than that of ``near``; they alternate."""
    times: tuple[list[float], list[float]] = ([], [])
    with redis.Redis.from_url(near) as one, redis.Redis.from_url(far) as other:
        for _ in range(PINGS):
            for client, found in zip((one, other), times, strict=True):
                started = time.perf_counter()
                client.ping()
                found.append(time.perf_counter() - started)
    return Figure.of(times[1]).value - Figure.of(times[0]).value


async def _serve(host: str, port: int, delay: float) -> None:
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Client(host, port, delay, counts), HOST, 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.connect_read_pipe(lambda: _Questions(counts), sys.stdin)
    await server.serve_forever()


class _Questions(asyncio.Protocol):
    """Each line asks for the counts; the end of the questions is the end of the relay."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\n")):
            print(json.dumps(vars(self._counts)), flush=True)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's interface
        asyncio.get_running_loop().stop()


def main() -> None:
    """Relay until the standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="host:port of the server")
    parser.add_argument("delay", type=float, help="seconds that each reply is held back")
    arguments = parser.parse_args()
    host, _, port = arguments.target.rpartition(":")
    # epoll's timers count in whole milliseconds, those of select in microseconds.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    task = loop.create_task(_serve(host, int(port), arguments.delay))
    task.add_done_callback(lambda _: loop.stop())
    loop.run_forever()


if __name__ == "__main__":
    main()
