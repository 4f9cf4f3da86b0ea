"""Brings drafts into their collection: look what is stored, write what must change, until nothing is left."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from bson.errors import BSONError
from pymongo.errors import BulkWriteError, DocumentTooLarge, OperationFailure

from spiders_project import statnames
from spiders_project.pipelines.client import ask_for_a_write
from spiders_project.pipelines.documents import STATE, step_of
from spiders_project.pipelines.failures import explain, is_id_conflict, is_passing
from spiders_project.pipelines.reasons import shorten

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.documents import Draft, Step
    from spiders_project.pipelines.history import HistoryWriter
    from spiders_project.pipelines.patience import Patience

logger = logging.getLogger(__name__)

#: Seconds at most before a write is repeated that met another worker's write of the same document.
CONFLICT_PAUSE = 0.05
#: The code of an item that nobody refuses and that cannot be stored all the same.
FAULT = "fault"


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
            steps, broken = _steps(left, stored)
            left = list(steps)
            if self._history is not None:
                await self._history.record(left, stored)
            outcome = await self._write(left, steps)
            if refused := broken + outcome.refused:
                await self._set_aside(refused)
                if self._history is not None:
                    await self._history.withdraw([one.draft for one in outcome.refused])
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

    async def _write(self, drafts: list[Draft], steps: Mapping[Draft, Step]) -> Outcome:
        if not drafts:
            return Outcome([], [])
        try:
            return await self._patience("be written", lambda: self._bulk(drafts, steps))
        except Exception as error:  # noqa: BLE001 - whatever one document provokes must not stop its neighbours
            if len(drafts) == 1:
                return Outcome([], [Refusal(drafts[0], code_of(error), shorten(explain(error)))])
        # MongoDB or the driver refused the batch as a whole: find out which document is the reason.
        half = len(drafts) // 2
        first, second = await self._write(drafts[:half], steps), await self._write(drafts[half:], steps)
        return Outcome(first.again + second.again, first.refused + second.refused)

    async def _bulk(self, drafts: list[Draft], steps: Mapping[Draft, Step]) -> Outcome:
        details: Mapping[str, Any]
        try:
            writes = [steps[draft].write for draft in drafts]
            details = (await self._collection.bulk_write(writes, ordered=False)).bulk_api_result
        except BulkWriteError as error:
            if is_passing(error):
                raise
            details = error.details
        except OperationFailure as error:
            # The whole command. Is it about what it holds, or would MongoDB refuse any?
            if not is_passing(error):
                await ask_for_a_write(self._collection)
            raise
        again, refused = [], []
        for one in details["writeErrors"]:
            draft = drafts[one["index"]]
            if is_id_conflict(one):
                again.append(draft)
            else:
                refused.append(Refusal(draft, f"mongo-{one['code']}", shorten(one["errmsg"])))
        self._count(statnames.INSERTED, details["nInserted"] + details["nUpserted"])
        done = details["nInserted"] + details["nMatched"] + details["nUpserted"]
        bad = {one.draft.id for one in refused}
        if done + len(details["writeErrors"]) < len(drafts):
            # A touch found another revision than was read, and MongoDB does not say which one it was.
            again = [draft for draft in drafts if draft.id not in bad]
        else:
            bad |= {draft.id for draft in again}
            kinds = Counter(steps[draft].kind for draft in drafts if draft.id not in bad)
            for kind in (statnames.UPDATED, statnames.UNCHANGED):
                self._count(kind, kinds[kind])
        return Outcome(again, refused)


def _steps(drafts: list[Draft], stored: Mapping[str, Mapping[str, Any]]) -> tuple[dict[Draft, Step], list[Refusal]]:
    """How each draft comes into the collection; and those for which that cannot be told, by a fault of ours."""
    steps: dict[Draft, Step] = {}
    broken: list[Refusal] = []
    for draft in drafts:
        try:
            steps[draft] = step_of(draft, stored.get(draft.id))
        except Exception as error:
            logger.exception("Nothing can be written for the document %s", draft.id)
            broken.append(Refusal(draft, FAULT, shorten(explain(error))))
    return steps, broken


def code_of(error: Exception) -> str:
    """The code under which an item is set aside that makes a write fail alone."""
    if isinstance(error, OperationFailure) and error.code is not None:
        return f"mongo-{error.code}"
    if isinstance(error, DocumentTooLarge):
        return "too-large"
    return "unencodable" if isinstance(error, BSONError) else FAULT
