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
from pymongo.errors import PyMongoError

from spiders_project.pipelines.documents import MAX_BYTES, OURS
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
        volatile: Fields whose change is no change.
    """

    def __init__(
        self, collection: AsyncCollection[dict[str, Any]], patience: Patience, volatile: AbstractSet[str]
    ) -> None:
        self._collection = collection
        self._patience = patience
        self._ignored = OURS | volatile

    async def record(self, drafts: Sequence[Draft], stored: Mapping[str, Mapping[str, Any]]) -> None:
        """Return when the history knows what ``drafts`` change of the documents in ``stored``."""
        records: list[dict[str, Any]] = []
        void: list[str] = []
        for draft in drafts:
            changes, without = self._changes(draft, stored.get(draft.id))
            records += changes
            void += without
        writes: list[Any] = [ReplaceOne({"_id": one["_id"]}, one, upsert=True) for one in records]
        if void:
            writes.append(DeleteMany({"_id": {"$in": void}}))
        if writes:
            try:
                await self._patience(
                    "keep the history",
                    lambda: self._collection.bulk_write(writes, ordered=False),
                    is_curable_upsert,
                )
            except PyMongoError as error:
                logger.error(  # noqa: TRY400 - the line says it all
                    "Not all changes could be kept in %(collection)s: %(why)s",
                    {"collection": self._collection.name, "why": explain(error)},
                )

    def _changes(self, draft: Draft, document: Mapping[str, Any] | None) -> tuple[list[dict[str, Any]], list[str]]:
        """The records of one document, and the ids of records that a lost race may have left behind."""
        known = set(document["request_ids"]) if document else set()
        before = document and self._own(document)
        before_hash = document and document["content_hash"]
        records, void = [], []
        for version in draft.versions():
            after = self._own(decode(version.raw))
            if version.request_id not in known and before is not None:
                record_id = digest([draft.id, version.request_id])
                if version.content_hash == before_hash:
                    void.append(record_id)
                else:
                    records.append(self._record(record_id, draft, version, difference(before, after)))
            known.add(version.request_id)
            before, before_hash = after, version.content_hash
        return records, void

    def _own(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in document.items() if name not in self._ignored}

    @staticmethod
    def _record(record_id: str, draft: Draft, version: Version, fields: dict[str, Any]) -> dict[str, Any]:
        record = {
            "_id": record_id,
            "item_id": draft.id,
            "changed_at": version.seen_at,
            "spider": draft.spider,
            "request_id": version.request_id,
            "fields": fields,
        }
        if len(bson.encode(record, codec_options=CODEC)) > MAX_BYTES:
            record["fields"] = {name: {"too_large": True} for name in fields}
        return record


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields that differ, each with its value before and after."""
    changed = [
        name
        for name in {**before, **after}
        if name not in before
        or name not in after
        # By the digest, since NaN is never equal to itself.
        or (before[name] != after[name] and digest(before[name]) != digest(after[name]))
    ]
    return {
        name: {side: fields[name] for side, fields in (("before", before), ("after", after)) if name in fields}
        for name in changed
    }
