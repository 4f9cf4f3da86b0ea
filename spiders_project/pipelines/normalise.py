"""One spelling for each value, so that equal content has one hash, here and in feed exports."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timezone
from typing import Any
from unicodedata import is_normalized, normalize

import attrs
from itemadapter import ItemAdapter
from pydantic import BaseModel


class NormalisePipeline:
    """Texts in Unicode's composed form (NFC), times aware and in UTC (a naive one is taken as UTC).

    The fields themselves are looked at, not what lies within lists and objects.
    """

    def process_item(self, item: Any) -> Any:
        """Give the item on; a changed one is a copy, since a spider may go on with its own."""
        fields = item if type(item) is dict else ItemAdapter(item) if ItemAdapter.is_item(item) else {}
        changes = {name: spelt for name, value in fields.items() if (spelt := spell(value)) is not value}
        return with_fields(item, changes) if changes else item


def spell(value: Any) -> Any:
    """The one spelling of a value; the value itself where it is spelt so already."""
    if isinstance(value, str):
        return value if value.isascii() or is_normalized("NFC", value) else normalize("NFC", value)
    if isinstance(value, datetime) and value.tzinfo is not timezone.utc:
        aware = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
        return aware.astimezone(timezone.utc)
    return value


def with_fields(item: Any, changes: dict[str, Any]) -> Any:
    """A copy of an item with some fields changed."""
    if isinstance(item, BaseModel):
        return item.model_copy(update=changes)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return dataclasses.replace(item, **changes)
    if attrs.has(type(item)):
        return attrs.evolve(item, **changes)
    copy = item.copy()
    copy.update(changes)
    return copy
