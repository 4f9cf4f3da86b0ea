"""A server on loopback that answers as a broken, slow or foreign Scrapyd would; for the shapes of errors only."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from deploy.targets import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Answer = tuple[int, Any] | tuple[int, Any, Mapping[str, str]]


class FakeNode(ThreadingHTTPServer):
    """``answers`` maps a path (or ``*``) to (status, JSON or text, headers), or to a function that gives one."""

    daemon_threads = True
    request_queue_size = 128  # fifty nodes on one port are asked at once

    def __init__(self, answers: dict[str, Answer | Callable[[], Answer]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[str] = []
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []

    def node(self, name: str = "fake", prefix: str = "/", **fields: str) -> Node:
        return Node(name, f"http://127.0.0.1:{self.server_address[1]}{prefix}", **fields)


class _Handler(BaseHTTPRequestHandler):
    server: FakeNode

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.headers.append(self.headers)
        self.server.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        answer = self.server.answers.get(path) or self.server.answers["*"]
        status, body, *more = answer() if callable(answer) else answer
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for header in more:
            for name, value in header.items():
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_HEAD = do_POST = do_GET  # noqa: N815 - http.server calls it so

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def fake_node(answers: Any) -> Iterator[FakeNode]:
    """Serve ``answers`` until the end of the block; a pair is the answer to everything."""
    server = FakeNode(answers if isinstance(answers, dict) else {"*": answers})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
