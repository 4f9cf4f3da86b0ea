"""Nodes for the deploy group: real HTTP servers that answer as Scrapyd does, each answer after a network's latency.

``python -m benchmarks.fake_nodes 50 0.05`` prints a port a line, and serves until its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.site_server import ROOT

HOST = "127.0.0.1"
PROJECT = "spiders_project"
_VERSION = re.compile(rb'name="?version"?\r\n\r\n([A-Za-z0-9_-]+)')
_NAME = re.compile(r'^    name = "(\w+)"', re.MULTILINE)


def spiders() -> list[str]:
    """The names of the project's spiders, which a node lists after a release."""
    files = (ROOT / PROJECT / "spiders").glob("*.py")
    return sorted(name for file in files for name in _NAME.findall(file.read_text()))


class FakeNode:
    """One node; it remembers the versions that it was sent."""

    def __init__(self, name: str, latency: float, spider_names: list[str]) -> None:
        self._name = name
        self._latency = latency
        self._spiders = spider_names
        self._versions: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                await asyncio.sleep(self._latency)
                answer = json.dumps({"node_name": self._name, "status": "ok", **self._answer(head, body)}).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(answer), answer)
                )
                await writer.drain()
        writer.close()

    def _answer(self, head: str, body: bytes) -> dict[str, Any]:
        target = urlsplit(head.split(" ", 2)[1])
        endpoint = target.path.rpartition("/")[2]
        if endpoint == "addversion.json":
            found = _VERSION.search(body)
            self._versions.append(found[1].decode() if found else "unknown")
        elif endpoint == "delversion.json":
            gone = parse_qs(body.decode("latin-1")).get("version", [])
            self._versions = [version for version in self._versions if version not in gone]
        answers: dict[str, dict[str, Any]] = {
            "addversion.json": {
                "project": PROJECT,
                "version": "".join(self._versions[-1:]),
                "spiders": len(self._spiders),
            },
            "delversion.json": {},
            "listversions.json": {"versions": self._versions},
            "listspiders.json": {"spiders": self._spiders},
            "listprojects.json": {"projects": [PROJECT] if self._versions else []},
            "listjobs.json": {"pending": [], "running": [], "finished": []},
            "daemonstatus.json": {"pending": 0, "running": 0, "finished": 0},
        }
        return answers.get(endpoint, {"status": "error", "message": f"no {endpoint} here"})


async def _serve(count: int, latency: float) -> None:
    names = spiders()
    loop = asyncio.get_running_loop()
    for number in range(count):
        node = FakeNode(f"node{number + 1}", latency, names)
        server = await asyncio.start_server(node.serve, HOST, 0, limit=1 << 20)
        print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Serve until the standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("latency", type=float)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.count, arguments.latency))


if __name__ == "__main__":
    main()
