"""The ``_id`` of a document and the hash of its content: the same for the same item, on every worker."""

from __future__ import annotations

import json
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any

import bson

from spiders_project.errors import RejectedItem
from spiders_project.pipelines.encoder import CODEC, field_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spiders_project.delivery import Origin
    from spiders_project.pipelines.shape import Shape

_ID_BYTES = 16
#: Values by which nothing is told from anything.
EMPTY: tuple[Any, ...] = ("", b"", [], {})
_canonical = json.JSONEncoder(sort_keys=True, default=repr, separators=(",", ":"), check_circular=False).encode


def digest(value: Any) -> str:
    """A hash of an encoded value; the order of keys does not count."""
    return blake2b(_canonical(value).encode(), digest_size=_ID_BYTES).hexdigest()


def item_id(fields: Mapping[str, Any], shape: Shape, origin: Origin | None) -> str:
    """The ``_id`` of an item.

    By its key fields where it has some; else by its request and its place in the callback's output, so that a
    hundred items of one page are a hundred documents, also after a redelivery. An item without key and
    without request (``start()``, or a scheduler that is not ours) is told from others by its content alone.

    Args:
        fields: The encoded item.
        shape: What its class says about storage.
        origin: The request that it comes from.

    Raises:
        RejectedItem: A key field is missing or empty.
    """
    if shape.key_fields:
        key = [_at(fields, name) for name in shape.key_fields]
        for name, value in zip(shape.key_fields, key, strict=True):
            if value is None or value in EMPTY:
                raise RejectedItem(f"{name}: the key field is missing or empty")
        return digest([shape.name, key])
    if origin is not None:
        return digest([shape.name, origin.delivery.fingerprint.hex(), origin.ordinal])
    return digest([shape.name, digest(_what_matters(fields, shape))])


def _at(fields: Mapping[str, Any], name: str) -> Any:
    """The value of a field, or by its dotted path that of one within others."""
    value = fields.get(field_name(name))
    if value is not None or "." not in name:
        return value
    value = fields
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def content_hash(fields: Mapping[str, Any], shape: Shape) -> str:
    """The hash of the fields that matter: all but the class's ``volatile_fields``; their order does not count."""
    # Of BSON, where texts need no escaping: a page's text is most of what there is to hash.
    ordered = _ordered(_what_matters(fields, shape))
    return sha256(bson.encode(ordered, codec_options=CODEC)).hexdigest()[: 2 * _ID_BYTES]


def _what_matters(fields: Mapping[str, Any], shape: Shape) -> Mapping[str, Any]:
    if not shape.volatile_fields:
        return fields
    return {name: value for name, value in fields.items() if name not in shape.volatile_fields}


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_ordered(one) if isinstance(one, dict | list) else one for one in value]
    return value
