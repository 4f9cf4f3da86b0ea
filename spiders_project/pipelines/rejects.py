"""What could not be stored: ``<collection>_rejected`` keeps each such item, with its reason."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import ReplaceOne
from pymongo.errors import BulkWriteError

from spiders_project.pipelines.buffer import Entry
from spiders_project.pipelines.encoder import CODEC, EncodeError, encode
from spiders_project.pipelines.failures import explain, is_curable_upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from pymongo.asynchronous.collection import AsyncCollection

    from spiders_project.delivery import Delivery
    from spiders_project.pipelines.patience import Patience

logger = logging.getLogger(__name__)

#: Characters of a text, and members of a list, that an item keeps which is too large to be kept whole.
EXCERPT = 200
#: Bytes of an item that is kept whole in ``_rejected``; the rest of MongoDB's 16 MiB is for the reason.
KEEP_BYTES = 15 * 1024 * 1024
#: What encoding raises, ours and the driver's: a pattern with NUL passes the first and not the second.
UNENCODABLE = (EncodeError, bson.errors.BSONError, OverflowError, UnicodeError)


class Reject(Entry):
    """A rejected item that waits to be set aside; its ``id`` is the same after a redelivery."""

    __slots__ = ()


def keepable(item: Any) -> tuple[Any, bool]:
    """The item in a form that MongoDB takes, and whether that is the whole item.

    What has no form in BSON is kept as its ``repr``, and an item that is too large as an excerpt.
    """
    try:
        encoded = encode(item)
        if len(bson.encode({"item": encoded}, codec_options=CODEC)) <= KEEP_BYTES:
            return encoded, True
    except UNENCODABLE:
        pass
    try:
        excerpt = _excerpt(item, 0)
        if len(bson.encode({"item": excerpt}, codec_options=CODEC)) <= KEEP_BYTES:
            return excerpt, False
        return _text(excerpt)[:EXCERPT], False
    except Exception:  # noqa: BLE001 - a mapping of the user's may raise anything when it is read
        return safe_repr(item)[:EXCERPT], False


def _excerpt(value: Any, depth: int) -> Any:
    if depth < 4:  # noqa: PLR2004 - deep enough to recognise an item by
        if isinstance(value, dict):
            return {
                _text(key)[:EXCERPT].translate({0: "␀"}): _excerpt(one, depth + 1)
                for key, one in list(value.items())[:EXCERPT]
            }
        if isinstance(value, list | tuple):
            return [_excerpt(one, depth + 1) for one in value[:EXCERPT]]
    try:
        encoded = encode(value)
        bson.encode({"": encoded}, codec_options=CODEC)
    except UNENCODABLE:
        encoded = None
    if encoded is not None and not isinstance(encoded, str | bytes | list | dict):
        return encoded
    text = _text(value if encoded is None else encoded)
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}… ({len(text)} characters)"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else safe_repr(value)


def safe_repr(value: Any) -> str:
    """The ``repr`` of a value, or of its class where it has none: of an int of 5,000 digits Python makes no text."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything
        return f"<{type(value).__qualname__} without a repr>"


def rejected(  # one argument a field of the document
    *,
    reject_id: str,
    item: Any,
    item_class: str,
    item_id: str | None,
    spider: str,
    code: str,
    reason: str,
    request_id: str | None,
    rejected_at: datetime,
    size: int | None = None,
    holds: Iterable[Delivery] = (),
) -> Reject:
    """The document that keeps a rejected item."""
    kept, whole = keepable(item)
    document = {
        "_id": reject_id,
        "spider": spider,
        "reason": reason,
        "code": code,
        "request_id": request_id,
        "rejected_at": rejected_at,
        "item_class": item_class,
        "item_id": item_id,
        "replayable": whole,
        "item": kept,
    }
    if size is not None:
        document["size"] = size
    return Reject(reject_id, bson.encode(encode(document), codec_options=CODEC), holds=list(holds))


class RejectsWriter:
    """Stores batches of rejected items in one collection."""

    def __init__(self, collection: AsyncCollection[dict[str, Any]], patience: Patience) -> None:
        self._collection = collection
        self._patience = patience

    async def store(self, rejects: Sequence[Reject]) -> None:
        """Return when each is acknowledged by MongoDB; the requests of those that are refused become dead letters."""
        writes: list[ReplaceOne[Any]] = [
            ReplaceOne({"_id": one.id}, RawBSONDocument(one.raw), upsert=True) for one in rejects
        ]
        try:
            await self._patience(
                "keep what was rejected",
                lambda: self._collection.bulk_write(writes, ordered=False),
                is_curable_upsert,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the items are not kept
            refused = (
                [rejects[one["index"]] for one in error.details["writeErrors"]]
                if isinstance(error, BulkWriteError)
                else rejects
            )
            # There is no third place to keep an item in, and waiting for ever would hold up the whole crawl: the
            # frontier keeps the request, and does not call it done.
            what = error.details["writeErrors"][0]["errmsg"] if isinstance(error, BulkWriteError) else explain(error)
            why = f"a rejected item could not be kept in {self._collection.name}: {what}"
            for delivery in (delivery for one in refused for delivery in one.holds):
                delivery.fail(why)
            logger.critical(
                "%(number)d rejected items could not be kept in %(collection)s, their requests become dead letters:"
                " %(why)s",
                {"number": len(refused), "collection": self._collection.name, "why": what},
            )
