"""From an item to what waits to be written: a draft of its document, or of what is kept of a rejected one."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import bson
from bson.errors import BSONError

from spiders_project.errors import RejectedItem
from spiders_project.pipelines.documents import MAX_BYTES, Draft, item_fields, own_fields
from spiders_project.pipelines.encoder import CODEC, EncodeError, decode, encode
from spiders_project.pipelines.identity import content_hash, digest, item_id
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.rejects import rejected, safe_repr

if TYPE_CHECKING:
    from spiders_project.delivery import Origin
    from spiders_project.pipelines.rejects import Reject
    from spiders_project.pipelines.shape import Shape
    from spiders_project.pipelines.writer import Refusal

# What stands for the request of an item without one: each such item was scraped once.
_PROCESS = uuid4().hex[:12]
_numbers = count()


def draft_item(
    item: Any,
    shape: Shape,
    spider: str,
    origin: Origin | None,
    *,
    known_id: str | None = None,
    seen_at: datetime | None = None,
) -> Draft:
    """Encode an item.

    A replayed one has been scraped at ``seen_at``, and ``known_id`` is its ``_id`` for want of a key of its own.

    Raises:
        Rejection: It cannot be stored.
    """
    try:
        fields = encode(item)
    except EncodeError as error:
        raise Rejection("unencodable", str(error)) from None
    if not isinstance(fields, dict):
        raise Rejection("no-item", f"a {type(item).__name__} is no item")
    try:
        key = known_id if known_id and not shape.key_fields else item_id(fields, shape, origin)
    except RejectedItem as error:
        raise Rejection("key", str(error)) from None
    # An item with a hash for its content_hash says itself what matters; anything else there is a field like others.
    own_hash = fields.get("content_hash")
    if not isinstance(own_hash, str) or not own_hash:
        own_hash = None
    else:
        del fields["content_hash"]
    try:
        raw = bson.encode({"_id": key, **own_fields(fields)}, codec_options=CODEC)
    except (BSONError, OverflowError, UnicodeError) as error:
        raise Rejection("unencodable", str(error)) from None
    if len(raw) > MAX_BYTES:
        raise Rejection(
            "too-large", f"{len(raw)} bytes as BSON; at most {MAX_BYTES} fit into MongoDB's 16 MiB", len(raw)
        )
    now = datetime.now(timezone.utc)
    return Draft(
        id=key,
        raw=raw,
        content_hash=own_hash or content_hash(fields, shape),
        own_hash=own_hash is not None,
        spider=spider,
        shape=shape,
        request_ids={origin.delivery.uid if origin else f"{_PROCESS}-{next(_numbers)}": None},
        seen_at=seen_at or now,
        drafted_at=now,
    )


def reject_item(item: Any, shape: Shape, spider: str, origin: Origin | None, rejection: Rejection) -> Reject:
    """What is kept of an item that is not stored; under the same ``_id`` after a redelivery."""
    place = [origin.delivery.fingerprint.hex(), origin.ordinal] if origin else safe_repr(item)
    return rejected(
        reject_id=digest([shape.name, place]),
        item=item,
        item_class=shape.path,
        item_id=_id_or_none(item, shape, origin),
        spider=spider,
        code=rejection.code,
        reason=rejection.reason,
        request_id=origin.delivery.uid if origin else None,
        rejected_at=datetime.now(timezone.utc),
        size=rejection.size,
    )


def reject_draft(refusal: Refusal) -> Reject:
    """What is kept of an item that MongoDB itself will not store."""
    draft, shape = refusal.draft, refusal.draft.shape
    return rejected(
        reject_id=digest([shape.name, draft.id]),
        item=item_fields(decode(draft.raw)) | ({"content_hash": draft.content_hash} if draft.own_hash else {}),
        item_class=shape.path,
        item_id=draft.id,
        spider=draft.spider,
        code=refusal.code,
        reason=refusal.reason,
        request_id=draft.request_id,
        rejected_at=draft.drafted_at,
        holds=draft.holds,
    )


def _id_or_none(item: Any, shape: Shape, origin: Origin | None) -> str | None:
    try:
        return item_id(encode(item), shape, origin)
    except Exception:  # noqa: BLE001 - it has none: the item was rejected for whatever this raises
        return None
