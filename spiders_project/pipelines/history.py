"""``MONGO_HISTORY``: each change of a document, kept in ``<collection>_history``.

``item_id``     the ``_id`` of the document that changed
``changed_at``  when the change was seen
``spider``      which spider saw it, and ``request_id`` by which request
``fields``      for each field that changed ``{"before": …, "after": …}``; one side where it is new or gone

A record is written before the change itself, under an ``_id`` made of document and request: a crash between
the two, or a redelivered request, writes the same record again instead of another one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import bson
from pymongo import DeleteMany, ReplaceOne

from spiders_project.pipelines.documents import MAX_BYTES, OURS, Known, is_stale
from spiders_project.pipelines.encoder import CODEC, decode
from spiders_project.pipelines.failures import explain, is_curable_upsert
from spiders_project.pipelines.identity import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.documents import Draft, Version
    from spiders_project.pipelines.patience import Patience


logger = logging.getLogger(__name__)


class HistoryWriter:
    """Records what a batch of drafts is about to change.

    Args:
        collection: The history's.
        patience: Repeats calls while MongoDB is away.
    """

    def __init__(self, collection: AsyncCollection[dict[str, Any]], patience: Patience) -> None:
        self._collection = collection
        self._patience = patience

    async def record(self, drafts: Sequence[Draft], stored: Mapping[str, Mapping[str, Any]]) -> None:
        """Return when the history knows what ``drafts`` change of the documents in ``stored``."""
        earlier = await self._earlier(drafts, stored)
        records: list[dict[str, Any]] = []
        void: list[str] = []
        for draft in drafts:
            try:
                changes, without = self._changes(draft, stored.get(draft.id), earlier)
            except Exception:
                logger.exception("What changes of the document %s cannot be told", draft.id)
                continue
            records += changes
            void += without
        await self._write([ReplaceOne({"_id": one["_id"]}, one, upsert=True) for one in records], void)

    async def withdraw(self, drafts: Sequence[Draft]) -> None:
        """Return when the history knows nothing of the changes of ``drafts``, which MongoDB has refused."""
        await self._write([], [_record_id(draft, one) for draft in drafts for one in draft.versions()])

    async def _write(self, writes: list[Any], void: list[str]) -> None:
        if void:
            writes.append(DeleteMany({"_id": {"$in": void}}))
        if not writes:
            return
        try:
            await self._patience(
                "keep the history",
                lambda: self._collection.bulk_write(writes, ordered=False),
                is_curable_upsert,
            )
        except Exception as error:  # noqa: BLE001 - a record that cannot be kept must not keep its document out
            logger.error(  # noqa: TRY400 - the line says it all
                "Not all changes could be kept in %(collection)s: %(why)s",
                {"collection": self._collection.name, "why": explain(error)},
            )

    async def _earlier(
        self, drafts: Sequence[Draft], stored: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """The records of requests that are here again, with a later item of the same key."""
        again = []
        for draft in drafts:
            known = Known.of(stored.get(draft.id, {}))
            latest = next(reversed(known.request_ids), None)
            if latest in draft.request_ids and not is_stale(draft, known):
                again += [_record_id(draft, one) for one in draft.versions() if one.request_id == latest]
        if not again:
            return {}
        found = await self._patience(
            "read the history",
            lambda: self._collection.find({"_id": {"$in": again}}).to_list(),
            lambda _error: True,
        )
        return {one["_id"]: one for one in found}

    def _changes(
        self, draft: Draft, document: Mapping[str, Any] | None, earlier: Mapping[str, dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The records of one document, and the ids of records of changes that are none.

        Those of a lost race, and of a page that has the item several times and leaves it as it was.
        """
        known = Known.of(document or {})
        volatile = draft.shape.volatile_fields
        before = _own(document, volatile) if document else None
        before_hash = known.content_hash
        records, void = [], []
        stale = is_stale(draft, known)
        for version in draft.versions():
            after = _own(decode(version.raw), volatile)
            record_id = _record_id(draft, version)
            if before is None:
                pass
            elif version.request_id in known.request_ids:
                # A redelivery makes no record. It may have one, which then tells what came of it in the end.
                if (record := earlier.get(record_id)) and version.content_hash != before_hash:
                    fields = difference(*_around(record["fields"], before, after))
                    if fields:
                        records.append({**self._fitting(record | {"fields": fields})})
                    else:
                        void.append(record_id)
            elif stale or version.content_hash == before_hash:
                void.append(record_id)
            else:
                records.append(self._record(record_id, draft, version, difference(before, after)))
            if not stale:
                before, before_hash = after, version.content_hash
        return records, void

    @staticmethod
    def _record(record_id: str, draft: Draft, version: Version, fields: dict[str, Any]) -> dict[str, Any]:
        return HistoryWriter._fitting(
            {
                "_id": record_id,
                "item_id": draft.id,
                "changed_at": version.changed_at,
                "spider": draft.spider,
                "request_id": version.request_id,
                "fields": fields,
            }
        )

    @staticmethod
    def _fitting(record: dict[str, Any]) -> dict[str, Any]:
        if len(bson.encode(record, codec_options=CODEC)) > MAX_BYTES:
            record["fields"] = {name: {"too_large": True} for name in record["fields"]}
        return record


def _own(document: Mapping[str, Any], volatile: AbstractSet[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in OURS and name not in volatile}


def _record_id(draft: Draft, version: Version) -> str:
    return digest([draft.id, version.request_id])


def _around(
    fields: Mapping[str, Mapping[str, Any]], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The document before the change that a record tells of, and what it is to become now."""
    first = {name: value for name, value in before.items() if name not in fields}
    return first | {name: one["before"] for name, one in fields.items() if "before" in one}, after


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields that differ, each with its value before and after."""
    changed = [
        name
        for name in {**before, **after}
        if name not in before
        or name not in after
        # By the digest, as the content hash tells them apart: NaN equals itself, and 1 neither True nor 1.0.
        or digest(before[name]) != digest(after[name])
    ]
    return {
        name: {side: fields[name] for side, fields in (("before", before), ("after", after)) if name in fields}
        for name in changed
    }
