"""Tries rejected items again, after whatever refused them was put right."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import attrs
from bson import Decimal128, Int64
from itemadapter import ItemAdapter
from pydantic import BaseModel

from spiders_project import items
from spiders_project.delivery import Delivery, Origin
from spiders_project.pipelines.normalise import NormalisePipeline
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.shape import class_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import scrapy
    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.pipelines.storage import Storage
    from spiders_project.pipelines.validate import Validator


@dataclass
class ReplayReport:
    """How many rejected items were stored, were refused again, or cannot be tried."""

    stored: int = 0
    refused: int = 0
    skipped: int = 0


def item_classes(spider: type[scrapy.Spider]) -> dict[str, type[Any]]:
    """The item classes of the project and of a spider's module, by their paths.

    Only these are ever made from what lies in MongoDB: a path that stands there is looked up, never imported.
    """
    modules = (items, sys.modules[spider.__module__])
    kinds = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return {class_path(kind): kind for kind in kinds if ItemAdapter.is_item_class(kind)} | {class_path(dict): dict}


def rebuild(fields: Any, kind: type[Any]) -> Any:
    """An item of class ``kind`` from its encoded fields; not validated.

    Raises:
        Rejection: The class has no such fields.
    """
    values = {name: _plain(value) for name, value in fields.items()}
    if issubclass(kind, BaseModel):
        return kind.model_construct(**values)
    try:
        return kind(**values) if dataclasses.is_dataclass(kind) or attrs.has(kind) else kind(values)
    except (TypeError, KeyError) as error:
        raise Rejection("fields", str(error)) from None


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

        The caller deletes nothing and closes the storage; until then stored items may still be in ``rejected``.
        """
        report = ReplayReport()
        done: list[dict[str, Any]] = []
        async for kept in rejected.find(query).batch_size(100):
            if not kept["replayable"] or kept["item_class"] not in self._kinds:
                report.skipped += 1
            else:
                await self._try(kept, done, report)
            self._progress(report)
        await self._storage.drain()
        before = await rejected.count_documents(dict(query))
        for kept in done:
            # Refused again by MongoDB itself, it was set aside anew, with a later time.
            await rejected.delete_one({"_id": kept["_id"], "rejected_at": kept["rejected_at"]})
        report.stored = before - await rejected.count_documents(dict(query))
        report.refused += len(done) - report.stored
        return report

    async def _try(self, kept: dict[str, Any], done: list[dict[str, Any]], report: ReplayReport) -> None:
        delivery = Delivery(kept["request_id"] or kept["_id"], kept["_id"].encode, lambda _: done.append(stub))
        stub = {"_id": kept["_id"], "rejected_at": kept["rejected_at"]}
        try:
            item = self._normalise(self._validate(rebuild(kept["item"], self._kinds[kept["item_class"]])))
            await self._storage.put(item, Origin(delivery, 0), kept["item_id"])
        except Rejection:
            report.refused += 1
        else:
            delivery.release()
