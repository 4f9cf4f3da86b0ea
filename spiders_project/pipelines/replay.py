"""Tries rejected items again, after whatever refused them was put right."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import attrs
from bson import Decimal128, Int64
from pydantic import BaseModel

from spiders_project.delivery import Delivery, Origin
from spiders_project.pipelines.normalise import NormalisePipeline
from spiders_project.pipelines.reasons import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.storage import Storage
    from spiders_project.pipelines.validate import Validator


@dataclass
class ReplayReport:
    """How many rejected items were stored, were refused again, or cannot be tried."""

    stored: int = 0
    refused: int = 0
    skipped: int = 0


def rebuild(fields: Any, kind: type[Any]) -> Any:
    """An item of class ``kind`` from its encoded fields; not validated.

    Raises:
        Rejection: The class has no such fields.
    """
    values = {name: _plain(value) for name, value in fields.items()}
    if issubclass(kind, BaseModel):
        return kind.model_construct(**values)
    try:
        if dataclasses.is_dataclass(kind) or attrs.has(kind):
            return _rebuild_class(values, kind)
        return kind(values)
    except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
        raise Rejection("fields", str(error)) from None


def _rebuild_class(values: dict[str, Any], kind: type[Any]) -> Any:
    if dataclasses.is_dataclass(kind):
        arguments = {one.name: one.name for one in dataclasses.fields(kind) if one.init}
        derived = {one.name for one in dataclasses.fields(kind) if not one.init}
    else:
        arguments = {one.name: one.alias for one in attrs.fields(kind) if one.init}
        derived = {one.name for one in attrs.fields(kind) if not one.init}
    given = {arguments.get(name, name): value for name, value in values.items() if name not in derived}
    item = kind(**given)
    # What the class makes of its other fields is newer than what was kept.
    for name in derived & values.keys():
        if not hasattr(item, name):
            object.__setattr__(item, name, values[name])
    return item


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


class Replay:
    """Runs rejected items through validation and storage again.

    Args:
        storage: Open; with the settings of the spider's crawl.
        validator: With the same settings.
        kinds: The item classes that are known, by path.
        progress: Called with the report, now and then.
    """

    def __init__(
        self,
        storage: Storage,
        validator: Validator,
        kinds: Mapping[str, type[Any]],
        progress: Callable[[ReplayReport], None],
    ) -> None:
        self._storage = storage
        self._validate = validator
        self._normalise = NormalisePipeline().process_item
        self._kinds = kinds
        self._progress = progress

    async def run(self, rejected: AsyncCollection[dict[str, Any]], query: Mapping[str, Any]) -> ReplayReport:
        """Try what ``query`` finds in ``rejected``; an item that is stored leaves it, all others stay.

        One whose document was seen after it was rejected leaves it, too, and the document stays as it is.

        The caller deletes nothing and closes the storage; until then stored items may still be in ``rejected``.
        """
        report = ReplayReport()
        done: list[dict[str, Any]] = []
        refused_before = self._storage.refused
        # What is set aside from here on was refused again.
        waiting = {"$and": [query, {"rejected_at": {"$lt": datetime.now(timezone.utc)}}]}
        async for kept in rejected.find(waiting).batch_size(100):
            if not kept["replayable"] or kept["item_class"] not in self._kinds:
                report.skipped += 1
            else:
                await self._try(kept, done, report)
            self._progress(report)
        await self._storage.drain()
        for kept in done:
            # Refused again by MongoDB itself, it was set aside anew, with a later time.
            await rejected.delete_one({"_id": kept["_id"], "rejected_at": kept["rejected_at"]})
        again = self._storage.refused - refused_before
        report.stored = len(done) - again
        report.refused += again
        return report

    async def _try(self, kept: dict[str, Any], done: list[dict[str, Any]], report: ReplayReport) -> None:
        delivery = Delivery(kept["request_id"] or kept["_id"], kept["_id"].encode, lambda _: done.append(stub))
        stub = {"_id": kept["_id"], "rejected_at": kept["rejected_at"]}
        try:
            item = self._normalise(self._validate(rebuild(kept["item"], self._kinds[kept["item_class"]])))
            await self._storage.put(item, Origin(delivery, 0), known_id=kept["item_id"], seen_at=kept["rejected_at"])
        except Rejection:
            report.refused += 1
        else:
            delivery.release()
