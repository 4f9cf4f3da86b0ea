"""Dead letters: requests that were given up; looked at, put back into the queue, or forgotten."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgpack

from spiders_project.errors import CodecError
from spiders_project.frontier import codec
from spiders_project.frontier.connection import translated
from spiders_project.frontier.redis_frontier import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spiders_project.frontier.crawl import Crawl

#: Letters moved in one atomic step.
BATCH = 200
#: What a retried request forgets of its former life, so that it has all its tries again.
_TRIES = ("retry_times", "retry_waited")


@dataclass(frozen=True)
class DeadLetter:
    """One request that was given up.

    Attributes:
        id: Its id in the frontier.
        url: Its URL; empty where the request cannot be read.
        host: Its politeness unit; empty where the request cannot be read.
        reason: ``callback``, ``item``, ``download``, ``status``, ``deliveries`` or ``undecodable``.
        error: The last error; for ``status`` it begins with the number.
        attempts: How often it was tried.
        at: When it was given up, in unix seconds by Redis's clock.
        payload: The request as it was queued.
    """

    id: str
    url: str
    host: str
    reason: str
    error: str
    attempts: int
    at: float
    payload: bytes


@dataclass(frozen=True)
class Wanted:
    """Which letters are meant; every condition that is given must hold.

    Attributes:
        host: Of this host.
        reason: Given up for this reason.
        status: Given up because of this HTTP status.
        before: Given up before this unix time (s).
        after: Given up at this unix time (s) or later.
    """

    host: str | None = None
    reason: str | None = None
    status: int | None = None
    before: float | None = None
    after: float | None = None

    def __contains__(self, letter: DeadLetter) -> bool:
        return (
            self.host in (None, letter.host)
            and self.reason in (None, letter.reason)
            and (self.status is None or (letter.reason == "status" and letter.error.split(" ")[0] == str(self.status)))
            and (self.before is None or letter.at < self.before)
            and (self.after is None or letter.at >= self.after)
        )


@dataclass(frozen=True)
class Retried:
    """How many letters are queued again, and how many cannot be read and stay."""

    queued: int
    unreadable: int


def host_of(fields: dict[str, Any]) -> str:
    """The politeness unit of a decoded request: the slot that its author set, else the URL's host."""
    return str(fields.get("meta", {}).get("download_slot") or (urlsplit(fields["url"]).hostname or "").rstrip("."))


def letter_of(id_: bytes, value: bytes) -> DeadLetter:
    """Read one entry of the hash of dead letters; what is broken in it is left empty."""
    letter, payload, time = msgpack.unpackb(value, raw=True)
    said = json.loads(letter)
    try:
        fields = codec.decode(payload or b"")
        url, host = fields["url"], host_of(fields)
    except (CodecError, ValueError):
        url, host = said.get("url", ""), ""
    return DeadLetter(
        id=id_.decode("ascii", "replace"),
        url=url,
        host=host,
        reason=said.get("reason", ""),
        error=said.get("error", ""),
        attempts=int(said.get("attempts", 0)),
        at=int(time) / 1000,
        payload=payload or b"",
    )


def letters(crawl: Crawl, wanted: Wanted | None = None) -> Iterator[DeadLetter]:
    """The letters that are ``wanted``, in no order, a few at a time; one may come twice while workers write.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    with translated():
        for id_, value in crawl.client.hscan_iter(crawl.keys.dead, count=BATCH):
            letter = letter_of(id_, value)
            if wanted is None or letter in wanted:
                yield letter


def retry(crawl: Crawl, wanted: Wanted, limit: int | None = None) -> Retried:
    """Queue letters again, at their old priority and host and with all their tries; opens a run if none is open.

    Each batch leaves the dead letters and joins the queue in one atomic step.

    Raises:
        FrontierUnavailable: Redis does not answer; what was moved stays moved.
        FrontierError: Redis refuses.
    """
    queued = unreadable = 0
    for batch in _batches(letters(crawl, wanted), limit):
        rows = []
        for letter in batch:
            try:
                rows.append((letter.id, *_again(letter.payload)))
            except (CodecError, ValueError):
                unreadable += 1
        queued += int(crawl.run("retry", pack(rows)))
    return Retried(queued, unreadable)


def _again(payload: bytes) -> tuple[bytes, str, int]:
    """The request as it was before its first try: payload, host, priority."""
    fields = codec.decode(payload)
    if "meta" in fields:
        fields["meta"] = {name: value for name, value in fields["meta"].items() if name not in _TRIES}
    # It was small enough once.
    return codec.encode(fields, max_bytes=len(payload) + 1024), host_of(fields), int(fields.get("priority", 0))


def forget(crawl: Crawl, wanted: Wanted, limit: int | None = None) -> int:
    """Drop letters for good.

    Returns:
        How many were dropped.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    dropped = 0
    for batch in _batches(letters(crawl, wanted), limit):
        with translated():
            answer: Any = crawl.client.hdel(crawl.keys.dead, *(letter.id for letter in batch))
        dropped += int(answer)
    return dropped


def _batches(found: Iterable[DeadLetter], limit: int | None) -> Iterator[list[DeadLetter]]:
    found = islice(found, limit)
    while batch := list(islice(found, BATCH)):
        yield batch
