"""Read an exported crawl into an empty crawl or one that exists; workers may run.

Requests go first and the seen set last, so that a request whose fingerprint is in the file is queued exactly once: it
is tested against what *this* crawl has seen, and marked in the same step. An import that broke off is simply repeated.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

from spiders_project.errors import CodecError
from spiders_project.frontier import codec
from spiders_project.frontier.dead_letters import host_of
from spiders_project.frontier.dump import MARK_BYTES, Counts, members_of
from spiders_project.frontier.redis_frontier import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from spiders_project.frontier.crawl import Crawl
    from spiders_project.frontier.dump import Dump, Record

    Fingerprint = Callable[[Mapping[str, Any]], bytes]

#: Records, and fingerprints, in one atomic step.
BATCH, MARKS = 200, 1000
_REPORT_EVERY = 50_000  # records and fingerprints


def import_crawl(crawl: Crawl, dump: Dump, fingerprint: Fingerprint, progress: Callable[[int], None]) -> Counts:
    """Merge ``dump`` into the crawl.

    Args:
        crawl: The crawl.
        dump: The file.
        fingerprint: Gives the fingerprint of a decoded request, as the crawl's workers would.
        progress: Told now and then how many records and fingerprints are read.

    Returns:
        What was new here.

    Raises:
        FrontierUnavailable: Redis does not answer; repeat the import.
        FrontierError: Redis refuses.
    """
    counts, read, reported = Counts(), 0, 0
    for kind, rows in _batches(dump, fingerprint):
        new = int(crawl.run("import", pack(rows)))
        setattr(counts, kind, getattr(counts, kind) + new)
        read += len(rows) if kind != "seen" else len(rows[0]) - 1
        if read - reported >= _REPORT_EVERY:
            reported = read
            progress(read)
    return counts


def _batches(dump: Dump, fingerprint: Fingerprint) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for kind, make in _ROWS.items():
        rows = (make(dump, record, fingerprint) for record in dump.records() if record[0] == kind)
        while batch := list(islice(rows, BATCH)):
            yield kind, batch
    for record in dump.records():
        if record[0] == "seen":
            for start in range(0, len(record[1]), MARKS * MARK_BYTES):
                marks = members_of(record[1][start : start + MARKS * MARK_BYTES])
                yield "seen", [("seen", *map(str, marks))]


def _own_mark(dump: Dump, *parts: bytes) -> str:
    """The fingerprint of a record itself: a dump that is read twice adds nothing twice."""
    digest = blake2b(b"\0".join((dump.id, *parts)), digest_size=MARK_BYTES).digest()
    return str(int.from_bytes(digest, "big", signed=True))


def _request_row(dump: Dump, record: Record, fingerprint: Fingerprint) -> tuple[Any, ...]:
    _, id_, payload, due = record
    own = _own_mark(dump, b"request", id_.encode())
    try:
        fields = codec.decode(payload)
        mark = own if fields.get("dont_filter") else str(int.from_bytes(fingerprint(fields), "big", signed=True))
        return "request", payload, host_of(fields), int(fields.get("priority", 0)), mark, due
    except (CodecError, ValueError) as error:
        letter = json.dumps({"reason": "undecodable", "error": str(error)})
        return "dead", own, letter, payload, dump.time


def _dead_row(dump: Dump, record: Record, _: Fingerprint) -> tuple[Any, ...]:
    return "dead", _own_mark(dump, b"dead", record[1].encode()), record[2], record[3], record[4]


def _seed_row(dump: Dump, record: Record, _: Fingerprint) -> tuple[Any, ...]:
    return "seed", _own_mark(dump, b"seed", record[1]), record[1], record[2]


def _rejected_row(dump: Dump, record: Record, _: Fingerprint) -> tuple[Any, ...]:
    return "rejected", _own_mark(dump, b"rejected", record[1]), record[1]


_ROWS: dict[str, Callable[[Dump, Record, Fingerprint], tuple[Any, ...]]] = {
    "request": _request_row,
    "dead": _dead_row,
    "seed": _seed_row,
    "rejected": _rejected_row,
}
