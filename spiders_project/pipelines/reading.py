"""What ``scrapy items`` reads from MongoDB: by a blocking client, in bounded memory."""

from __future__ import annotations

import base64
import csv
import json
import math
from typing import TYPE_CHECKING, Any

from bson import Decimal128

from spiders_project.pipelines.documents import OURS
from spiders_project.pipelines.shape import HISTORY, REJECTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import TextIO

    from pymongo.database import Database


def collections_of(db: Database[dict[str, Any]], spider: str) -> list[str]:
    """The collections that hold items of ``spider``, or rejected ones."""
    names = {name.removesuffix(REJECTED) for name in db.list_collection_names() if not name.endswith(HISTORY)}
    query = {"spider": spider}
    return sorted(name for name in names if db[name].find_one(query) or db[name + REJECTED].find_one(query))


def status(db: Database[dict[str, Any]], spider: str, name: str, since: datetime | None = None) -> dict[str, Any]:
    """The figures of one collection; ``since`` a time, those of what is new, has changed or was rejected."""
    totals = {
        "documents": {"$sum": 1},
        "first_seen": {"$min": "$first_seen"},
        "last_seen": {"$max": "$last_seen"},
        "changed_at": {"$max": "$changed_at"},
    }
    found = next(
        iter(db[name].aggregate([_since(spider, "changed_at", since), {"$group": {"_id": None, **totals}}])),
        dict.fromkeys(totals),
    )
    reasons = db[name + REJECTED].aggregate(
        [_since(spider, "rejected_at", since), {"$group": {"_id": "$code", "items": {"$sum": 1}}}]
    )
    return {
        "collection": name,
        "documents": found["documents"] or 0,
        **{key: found[key] for key in totals if key != "documents"},
        "rejected": {one["_id"]: one["items"] for one in reasons},
    }


def _since(spider: str, time: str, since: datetime | None) -> dict[str, Any]:
    return {"$match": {"spider": spider} | ({time: {"$gte": since}} if since is not None else {})}


def documents(
    db: Database[dict[str, Any]], spider: str, name: str, since: datetime | None
) -> tuple[int, Iterator[dict[str, Any]]]:
    """How many documents ``spider`` has in a collection, new or changed since a time; and they themselves."""
    query = _since(spider, "changed_at", since)["$match"]
    return db[name].count_documents(query), iter(db[name].find(query).batch_size(500))


def field_names(db: Database[dict[str, Any]], spider: str, name: str) -> list[str]:
    """Every field that a document of ``spider`` has: the item's own in alphabetical order, then ours."""
    pipeline: list[dict[str, Any]] = [
        {"$match": {"spider": spider}},
        {"$project": {"fields": {"$map": {"input": {"$objectToArray": "$$ROOT"}, "in": "$$this.k"}}}},
        {"$unwind": "$fields"},
        {"$group": {"_id": "$fields"}},
    ]
    names = {one["_id"] for one in db[name].aggregate(pipeline, allowDiskUse=True)}
    return ["_id", *sorted(names - OURS), *sorted((names & OURS) - {"_id"})]


def plain(value: Any) -> Any:
    """A value of a document as JSON has it: times in ISO format, Decimals as strings, bytes in base64."""
    if value is None or isinstance(value, str | bool | int | float):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal128):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def as_json(document: Mapping[str, Any]) -> str:
    """A document as one line."""
    return json.dumps(plain(document), ensure_ascii=False)


class JsonLines:
    """Writes a document a line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, document: Mapping[str, Any]) -> None:
        """Write one."""
        self._out.write(as_json(document) + "\n")


class Csv:
    """Writes a document a row; lists and objects are JSON within their cell.

    Attributes:
        left_out: Fields that documents got after the columns were chosen, by a crawl that goes on meanwhile.
    """

    def __init__(self, out: TextIO, fields: list[str]) -> None:
        self._fields = frozenset(fields)
        self.left_out: set[str] = set()
        self._writer = csv.DictWriter(out, fields, lineterminator="\n", extrasaction="ignore")
        self._writer.writeheader()

    def write(self, document: Mapping[str, Any]) -> None:
        """Write one."""
        self.left_out |= document.keys() - self._fields
        row = {name: plain(value) for name, value in document.items()}
        self._writer.writerow(
            {
                name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
                for name, value in row.items()
            }
        )
