"""Brings drafts into their collection: look what is stored, write what must change, until nothing is left."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from spiders_project import statnames
from spiders_project.pipelines.documents import STATE, write_of
from spiders_project.pipelines.failures import explain, is_id_conflict, is_passing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.documents import Draft, Write
    from spiders_project.pipelines.history import HistoryWriter
    from spiders_project.pipelines.patience import Patience

logger = logging.getLogger(__name__)

#: Seconds at most before a write is repeated that met another worker's write of the same document.
CONFLICT_PAUSE = 0.05


class Refusal(NamedTuple):
    """Why MongoDB will not store one document."""

    draft: Draft
    code: str
    reason: str


class Outcome(NamedTuple):
    """What a bulk write left to do."""

    again: list[Draft]
    refused: list[Refusal]


class Writer:
    """Stores batches of drafts in one collection.

    Args:
        collection: With write concern and codec as wanted, reading from the primary.
        patience: Repeats calls while MongoDB is away.
        set_aside: Takes what MongoDB refuses; must have stored it when it returns.
        count: Called with a stat's name and a number.
        history: Keeps what changes, where that is wanted.
    """

    def __init__(
        self,
        collection: AsyncCollection[dict[str, Any]],
        patience: Patience,
        set_aside: Callable[[Sequence[Refusal]], Awaitable[None]],
        count: Callable[[str, int], None],
        history: HistoryWriter | None = None,
    ) -> None:
        self._collection = collection
        self._patience = patience
        self._set_aside = set_aside
        self._count = count
        self._history = history

    async def store(self, drafts: list[Draft]) -> None:
        """Return when each draft is acknowledged by MongoDB or set aside, however long that takes."""
        left = drafts
        while left:
            stored = await self._look(left)
            if self._history is not None:
                await self._history.record(left, stored)
            outcome = await self._write(left, stored)
            if outcome.refused:
                await self._set_aside(outcome.refused)
            left = outcome.again
            if left:
                self._count(statnames.CONFLICTS, len(left))
                await asyncio.sleep(random.uniform(0, CONFLICT_PAUSE))  # noqa: S311 - spreads workers
        self._count(statnames.BATCHES, 1)

    async def _look(self, drafts: list[Draft]) -> dict[str, dict[str, Any]]:
        ids = [draft.id for draft in drafts]
        fields = STATE if self._history is None else None
        # Nothing was written yet, so there is no document to blame: any error is waited out.
        found = await self._patience(
            "be read",
            lambda: self._collection.find({"_id": {"$in": ids}}, fields).to_list(),
            lambda _error: True,
        )
        return {document["_id"]: document for document in found}

    async def _write(self, drafts: list[Draft], stored: Mapping[str, Mapping[str, Any]]) -> Outcome:
        writes = [write_of(draft, stored.get(draft.id)) for draft in drafts]
        try:
            return await self._patience("be written", lambda: self._bulk(drafts, writes))
        except Exception as error:  # noqa: BLE001 - whatever one document provokes must not stop its neighbours
            if len(drafts) == 1:
                return Outcome([], [Refusal(drafts[0], type(error).__name__, explain(error))])
        # MongoDB or the driver refused the batch as a whole: find out which document is the reason.
        half = len(drafts) // 2
        first, second = await self._write(drafts[:half], stored), await self._write(drafts[half:], stored)
        return Outcome(first.again + second.again, first.refused + second.refused)

    async def _bulk(self, drafts: list[Draft], writes: list[Write]) -> Outcome:
        details: Mapping[str, Any]
        try:
            details = (await self._collection.bulk_write(writes, ordered=False)).bulk_api_result
        except BulkWriteError as error:
            if is_passing(error):
                raise
            details = error.details
        again, refused = [], []
        for one in details["writeErrors"]:
            draft = drafts[one["index"]]
            if is_id_conflict(one):
                again.append(draft)
            else:
                refused.append(Refusal(draft, f"mongo-{one['code']}", one["errmsg"]))
        self._count(statnames.INSERTED, details["nInserted"] + details["nUpserted"])
        done = details["nInserted"] + details["nMatched"] + details["nUpserted"]
        if done + len(details["writeErrors"]) < len(drafts):
            # A touch found another revision than was read, and MongoDB does not say which one it was.
            bad = {refusal.draft.id for refusal in refused}
            again = [draft for draft in drafts if draft.id not in bad]
        else:
            unchanged = sum(isinstance(write, UpdateOne) for write in writes)
            self._count(statnames.UPDATED, details["nMatched"] - unchanged)
            self._count(statnames.UNCHANGED, unchanged)
        return Outcome(again, refused)
