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
from datetime import datetime
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import InsertOne, ReplaceOne, UpdateOne

from spiders_project import statnames
from spiders_project.pipelines.buffer import Entry
from spiders_project.pipelines.encoder import CODEC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from spiders_project.pipelines.shape import Shape


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
STATE = dict.fromkeys(OURS - {"spider"}, 1)
#: How many requests a document remembers: more than can store the same item while one of them waits for its
#: redelivery, which comes within minutes. Only documents of items that stand on as many pages grow so large.
REMEMBERED_REQUESTS = 1000
#: MongoDB's limit is 16 MiB for the whole document; the rest is for our own fields, most of it for request_ids.
MAX_BYTES = 16 * 1024 * 1024 - 128 * 1024

TIMES = ("first_seen", "last_seen", "changed_at")
#: A number in a stored document beyond this one is not ours.
MAX_COUNT = 2**53

T = TypeVar("T")
Write = InsertOne[Any] | ReplaceOne[Any] | UpdateOne


class Version(NamedTuple):
    """One content of a document, by the request that it comes from."""

    raw: bytes
    content_hash: str
    request_id: str
    changed_at: datetime


@dataclass(slots=True, eq=False)
class Draft(Entry):
    """An item that waits to be stored; ``raw`` holds ``_id`` and the item's own fields.

    Attributes:
        content_hash: Of the fields that matter.
        own_hash: Whether that is a field of the item.
        spider: The spider's name.
        shape: What its class says about storage; several classes may share a collection.
        request_ids: The requests that it comes from, as the keys of a dict, the latest one last; several where
            one batch had the item several times.
        earlier: Versions that a later one of the same batch has replaced.
        seen_at: When it was scraped (aware, UTC).
        drafted_at: When it came here: later than that, where a rejected item is tried again.
    """

    content_hash: str
    spider: str
    shape: Shape
    request_ids: dict[str, None]
    seen_at: datetime
    drafted_at: datetime
    own_hash: bool = False
    earlier: tuple[Version, ...] = ()

    @property
    def request_id(self) -> str:
        """The latest of the requests."""
        return next(reversed(self.request_ids))

    def versions(self) -> list[Version]:
        """What the document becomes, one after the other; all but the last live in the history only.

        One for each request: of a page that has the item several times, the last one counts.
        """
        last: dict[str, Version] = {}
        for one in (*self.earlier, self._version()):
            last.pop(one.request_id, None)
            last[one.request_id] = one
        return list(last.values())

    def _version(self) -> Version:
        return Version(self.raw, self.content_hash, self.request_id, self.drafted_at)

    def absorb(self, later: Self) -> None:
        """Take over another version of the same item: what was scraped last wins, each request stays counted."""
        if later.seen_at < self.seen_at:  # a rejected one that is tried again, or one that has waited for room
            raw, new = self.raw, [one for one in later.request_ids if one not in self.request_ids]
            Entry.absorb(self, later)
            self.raw, self.request_ids = raw, {**dict.fromkeys(new), **self.request_ids}
            return
        self.earlier = (*self.earlier, self._version())
        Entry.absorb(self, later)
        self.content_hash, self.own_hash, self.shape = later.content_hash, later.own_hash, later.shape
        self.seen_at, self.drafted_at = later.seen_at, later.drafted_at
        for one in later.request_ids:
            self.request_ids.pop(one, None)
            self.request_ids[one] = None


def own_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item's fields under names that are not ours: ``spider`` as ``spider_``, and ``spider_`` as ``spider__``."""
    if OURS.isdisjoint(fields) and not any(name.endswith("_") for name in fields):
        return fields
    return {f"{name}_" if name.rstrip("_") in OURS else name: value for name, value in fields.items()}


def item_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """What ``own_fields`` was given: the item's fields under the item's names."""
    return {
        name[:-1] if name.rstrip("_") in OURS else name: value for name, value in document.items() if name not in OURS
    }


def whole(draft: Draft, ours: Mapping[str, Any]) -> RawBSONDocument:
    """The document as BSON: what the draft holds, then our fields. The item is not encoded a second time."""
    tail = bson.encode(ours, codec_options=CODEC)
    # A document is its length, its fields and a NUL; the draft's NUL and the tail's length fall out.
    return RawBSONDocument(b"".join((pack("<i", len(draft.raw) + len(tail) - 5), draft.raw[4:-1], tail[4:])))


@dataclass(frozen=True, slots=True)
class Known:
    """Our fields of a stored document. What is missing or odd, since somebody else wrote it, counts as absent.

    Attributes:
        request_ids: As the keys of a dict, the latest one last.
        revision: As it stands there, whatever it is: the guard of the next write.
        whole: Whether nothing of it was missing or odd.
    """

    first_seen: datetime | None
    last_seen: datetime | None
    changed_at: datetime | None
    fetch_count: int
    content_hash: str | None
    request_ids: dict[str, None]
    revision: Any
    whole: bool

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read them from a stored document."""
        first, last, changed = (_of_type(stored.get(name), datetime) for name in TIMES)
        ids = _of_type(stored.get("request_ids"), list)
        content_hash = _of_type(stored.get("content_hash"), str)
        count, revision = _number(stored.get("fetch_count")), stored.get("revision")
        return cls(
            first_seen=first,
            last_seen=last,
            changed_at=changed,
            fetch_count=count or 0,
            content_hash=content_hash,
            request_ids=dict.fromkeys(one for one in ids or () if isinstance(one, str)),
            revision=revision,
            whole=None not in (first, last, changed, ids, content_hash, count, _number(revision)),
        )


def _of_type(value: Any, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) else None


def _number(value: Any) -> int | None:
    # Older shells write every number as a float.
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_COUNT
    return int(value) if fits else None


class Step(NamedTuple):
    """What brings a draft into the collection.

    Attributes:
        write: The one write.
        kind: The stat that it counts for.
    """

    write: Write
    kind: str


def is_stale(draft: Draft, known: Known) -> bool:
    """Whether somebody has scraped the same item later, and was quicker to store it."""
    return known.last_seen is not None and draft.seen_at < known.last_seen


def step_of(draft: Draft, stored: Mapping[str, Any] | None) -> Step:
    """The one write that brings ``draft`` into the collection.

    Each is safe to repeat and safe beside other workers: an insert fails if the document has appeared since
    it was looked for, and an update asks for the revision that was read. A replacement that finds another
    revision tries to insert, and fails as well; a touch that finds another revision matches nothing.

    Args:
        draft: The item.
        stored: The fields ``STATE`` of the stored document, or None where there is none.
    """
    if stored is None:
        return Step(InsertOne(whole(draft, _bookkeeping(draft, Known.of({})))), statnames.INSERTED)
    known = Known.of(stored)
    ours = _bookkeeping(draft, known)
    # $eq, since what somebody else wrote there may look like a condition.
    guard = {"_id": draft.id, "revision": {"$eq": known.revision}}
    same = known.content_hash == draft.content_hash
    if is_stale(draft, known) or (same and known.whole):
        touched = ("last_seen", "fetch_count", "request_ids", "revision")
        return Step(UpdateOne(guard, {"$set": {name: ours[name] for name in touched}}), statnames.UNCHANGED)
    # A request that is known already is a redelivery, or has the item twice: its content counts, its change does not.
    again = not _new_requests(draft, known)
    if (same or again) and known.changed_at:
        ours["changed_at"] = known.changed_at
    return Step(
        ReplaceOne(guard, whole(draft, ours), upsert=True), statnames.UNCHANGED if same or again else statnames.UPDATED
    )


def _new_requests(draft: Draft, known: Known) -> list[str]:
    return [one for one in draft.request_ids if one not in known.request_ids]


def _bookkeeping(draft: Draft, known: Known) -> dict[str, Any]:
    new = _new_requests(draft, known)
    return {
        "spider": draft.spider,
        "first_seen": known.first_seen or draft.seen_at,
        "last_seen": max(known.last_seen or draft.seen_at, draft.seen_at),
        "changed_at": draft.drafted_at,
        "fetch_count": known.fetch_count + len(new),
        "content_hash": draft.content_hash,
        "request_ids": [*known.request_ids, *new][-REMEMBERED_REQUESTS:],
        "revision": (_number(known.revision) or 0) + 1,
    }
