"""A document: the item's own fields, then ours; and what a newly scraped item does to the stored one.

``spider``        the spider that last changed the document
``first_seen``    when it was first stored
``last_seen``     when it was last scraped
``changed_at``    when it was first seen as it is now
``fetch_count``   by how many requests it was scraped; a redelivered request counts once
``content_hash``  of the fields that matter
``request_ids``   the last requests that were counted
``revision``      goes up with each write, so that two workers never undo each other's
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import InsertOne, ReplaceOne, UpdateOne

from spiders_project.pipelines.buffer import Entry
from spiders_project.pipelines.encoder import CODEC

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from typing_extensions import Self


#: Names that are ours. An item's field of such a name gets an underscore behind it, so that nothing is lost.
OURS = frozenset(
    (
        "_id",
        "spider",
        "first_seen",
        "last_seen",
        "changed_at",
        "fetch_count",
        "content_hash",
        "request_ids",
        "revision",
    )
)
#: What must be known of a stored document to write its next revision.
STATE = dict.fromkeys(OURS - {"spider", "changed_at"}, 1)
#: How many requests a document remembers: more than can store the same item while one of them waits for its
#: redelivery, which comes within minutes. Only documents of items that stand on as many pages grow so large.
REMEMBERED_REQUESTS = 1000
#: MongoDB's limit is 16 MiB for the whole document; the rest is for our own fields, most of it for request_ids.
MAX_BYTES = 16 * 1024 * 1024 - 128 * 1024

Write = InsertOne[Any] | ReplaceOne[Any] | UpdateOne


class Version(NamedTuple):
    """One content of a document, by the request that it comes from."""

    raw: bytes
    content_hash: str
    request_id: str
    seen_at: datetime


@dataclass(slots=True)
class Draft(Entry):
    """An item that waits to be stored; ``raw`` holds ``_id`` and the item's own fields.

    Attributes:
        content_hash: Of the fields that matter.
        spider: The spider's name.
        request_ids: The requests that it comes from, as the keys of a dict, the latest one last; several where
            one batch had the item several times.
        earlier: Versions that a later one of the same batch has replaced.
        seen_at: When it was scraped (aware, UTC).
    """

    content_hash: str
    spider: str
    request_ids: dict[str, None]
    seen_at: datetime
    earlier: tuple[Version, ...] = ()

    @property
    def request_id(self) -> str:
        """The latest of the requests."""
        return next(reversed(self.request_ids))

    def versions(self) -> list[Version]:
        """What the document becomes, one after the other; all but the last live in the history only."""
        return [*self.earlier, self._version()]

    def _version(self) -> Version:
        return Version(self.raw, self.content_hash, self.request_id, self.seen_at)

    def absorb(self, later: Self) -> None:
        """Take over a later version of the same item; each request stays counted."""
        self.earlier = (*self.earlier, self._version())
        Entry.absorb(self, later)
        self.content_hash = later.content_hash
        self.seen_at = later.seen_at
        for one in later.request_ids:
            self.request_ids.pop(one, None)
            self.request_ids[one] = None


def own_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item's fields under names that are not ours."""
    if OURS.isdisjoint(fields):
        return fields
    return {f"{name}_" if name in OURS else name: value for name, value in fields.items()}


def item_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """What ``own_fields`` was given: the item's fields under the item's names."""
    return {name[:-1] if name[:-1] in OURS else name: value for name, value in document.items() if name not in OURS}


def whole(draft: Draft, ours: Mapping[str, Any]) -> RawBSONDocument:
    """The document as BSON: what the draft holds, then our fields. The item is not encoded a second time."""
    tail = bson.encode(ours, codec_options=CODEC)
    # A document is its length, its fields and a NUL; the draft's NUL and the tail's length fall out.
    return RawBSONDocument(b"".join((pack("<i", len(draft.raw) + len(tail) - 5), draft.raw[4:-1], tail[4:])))


def write_of(draft: Draft, stored: Mapping[str, Any] | None) -> Write:
    """The one write that brings ``draft`` into the collection.

    Each is safe to repeat and safe beside other workers: an insert fails if the document has appeared since
    it was looked for, and an update asks for the revision that was read. A replacement that finds another
    revision tries to insert, and fails as well; a touch that finds another revision matches nothing.

    Args:
        draft: The item.
        stored: The fields ``STATE`` of the stored document, or None where there is none.
    """
    if stored is None:
        return InsertOne(
            whole(
                draft,
                {
                    "spider": draft.spider,
                    "first_seen": draft.seen_at,
                    "last_seen": draft.seen_at,
                    "changed_at": draft.seen_at,
                    "fetch_count": len(draft.request_ids),
                    "content_hash": draft.content_hash,
                    "request_ids": list(draft.request_ids)[-REMEMBERED_REQUESTS:],
                    "revision": 1,
                },
            )
        )
    known = dict.fromkeys(stored["request_ids"])
    new = [one for one in draft.request_ids if one not in known]
    guard = {"_id": draft.id, "revision": stored["revision"]}
    touched = {
        "last_seen": max(stored["last_seen"], draft.seen_at),
        "fetch_count": stored["fetch_count"] + len(new),
        "request_ids": [*known, *new][-REMEMBERED_REQUESTS:],
        "revision": stored["revision"] + 1,
    }
    if stored["content_hash"] == draft.content_hash:
        return UpdateOne(guard, {"$set": touched})
    ours = {
        "spider": draft.spider,
        "first_seen": stored["first_seen"],
        "changed_at": draft.seen_at,
        "content_hash": draft.content_hash,
        **touched,
    }
    return ReplaceOne(guard, whole(draft, ours), upsert=True)
