"""The form of a crawl in a file; ``export`` writes it, ``imports`` reads it.

The file is a stream of msgpack values, gzipped where its name ends in ``.gz``. The first is a map::

    {"format": "spiders_project.frontier", "version": 1, "id": …, "namespace": …, "time": ms}

then arrays that begin with their kind, and last ``["end", records]``, without which the file is not whole
(``ms`` are unix times in milliseconds):

=====================================  ===================================================================
``["seed", entry, score]``             an entry of ``start_urls``, the last first; score of a sorted set, or 0
``["dead", id, letter, payload, ms]``  a dead letter, as the frontier keeps it
``["request", id, payload, ms]``       a request that is not done; the time until which it waits, or 0
``["rejected", element]``              an entry that was no seed, as the frontier keeps it
``["seen", marks]``                    fingerprints of the seen set, 8 bytes each (signed, big-endian)
=====================================  ===================================================================
"""

from __future__ import annotations

import gzip
import os
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import msgpack

from spiders_project.errors import FrontierError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT, VERSION = "spiders_project.frontier", 1
MARK_BYTES = 8
KINDS = ("seed", "dead", "request", "rejected", "seen")

Record = list[Any]


@dataclass
class Counts:
    """Records by kind; of the seen set, fingerprints."""

    seed: int = 0
    dead: int = 0
    request: int = 0
    rejected: int = 0
    seen: int = 0

    def add(self, record: Record) -> None:
        """Count one record."""
        kind = record[0]
        number = len(record[1]) // MARK_BYTES if kind == "seen" else 1
        setattr(self, kind, getattr(self, kind) + number)


def packed(value: object) -> bytes:
    """One value of the stream."""
    data: bytes = msgpack.packb(value)
    return data


def marks_of(members: list[bytes]) -> bytes:
    """Members of the seen set (decimal strings) as the file has them."""
    return struct.pack(f">{len(members)}q", *map(int, members))


def members_of(marks: bytes) -> tuple[int, ...]:
    """The inverse of ``marks_of``."""
    return struct.unpack(f">{len(marks) // MARK_BYTES}q", marks)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only once it is whole; for its owner alone, since requests hold cookies."""
    part = path.with_name(f"{path.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw, filename="", mode="wb", compresslevel=6) as out:
                    yield out  # type: ignore[misc]  # a GzipFile is written to as any file
            else:
                yield raw
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class Dump:
    """A file that was written by an export; may be read several times."""

    def __init__(self, path: Path) -> None:
        """Read the file once, to its end; whether it is gzipped shows by its first bytes.

        Raises:
            FrontierError: It is no such file, of a version that is not known here, or not whole.
            OSError: It cannot be read.
        """
        self.path = path
        self.counts = Counts()
        head: Any = None
        records, said = 0, -1
        try:
            for number, value in enumerate(self._values()):
                if number == 0:
                    head = value
                    if not isinstance(head, dict) or head.get("format") != FORMAT:
                        break
                    if head["version"] != VERSION:
                        raise FrontierError(f"{path} has version {head['version']}; this program reads {VERSION}")
                elif value[0] == "end":
                    said = value[1]
                else:
                    self.counts.add(value)
                    records += 1
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            EOFError,
            msgpack.UnpackException,
        ) as error:
            raise FrontierError(f"{path} is no export of a crawl, or is damaged: {error!r}") from error
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise FrontierError(f"{path} is no export of a crawl")
        if said != records:
            raise FrontierError(f"{path} is not whole: it ends after {records:,} records")
        self.id: bytes = head["id"]
        self.namespace: str = head["namespace"]
        self.time: int = head["time"]

    def records(self) -> Iterator[Record]:
        """The records, in the order of the file."""
        for value in self._values():
            if isinstance(value, list) and value[0] != "end":
                yield value

    def _values(self) -> Iterator[Any]:
        with self.path.open("rb") as raw:
            is_gzipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if is_gzipped else raw
            yield from msgpack.Unpacker(stream, raw=False, strict_map_key=False)
