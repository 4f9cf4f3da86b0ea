"""One spelling for each value, so that equal content has one hash, here and in feed exports."""

from __future__ import annotations

import dataclasses
from copy import copy
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from unicodedata import is_normalized, normalize

import attrs
from itemadapter import ItemAdapter
from pydantic import BaseModel
from scrapy import Item

if TYPE_CHECKING:
    from collections.abc import Mapping


class NormalisePipeline:
    """Texts in Unicode's composed form (NFC), times aware and in UTC (a naive one is taken as UTC).

    The fields themselves are looked at, not what lies within lists and objects.
    """

    def process_item(self, item: Any) -> Any:
        """Give the item on; a changed one is a copy, since a spider may go on with its own."""
        fields = item if type(item) is dict else fields_of(item)
        changes = {name: spelt for name, value in fields.items() if (spelt := spell(value)) is not value}
        return with_fields(item, changes) if changes else item


def fields_of(item: Any) -> Mapping[str, Any]:
    """The fields of an item that have a value; none of what is no item."""
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {one.name: getattr(item, one.name) for one in dataclasses.fields(item) if hasattr(item, one.name)}
    if attrs.has(type(item)):
        return {one.name: getattr(item, one.name) for one in attrs.fields(type(item)) if hasattr(item, one.name)}
    return ItemAdapter(item) if ItemAdapter.is_item(item) else {}


def spell(value: Any) -> Any:
    """The one spelling of a value; the value itself where it is spelt so already."""
    if isinstance(value, str):
        return value if value.isascii() or is_normalized("NFC", value) else normalize("NFC", value)
    if isinstance(value, datetime) and value.tzinfo is not timezone.utc:
        aware = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
        try:
            return aware.astimezone(timezone.utc)
        except OverflowError:
            return value  # the storage rejects it
    return value


def with_fields(item: Any, changes: dict[str, Any]) -> Any:
    """A copy of an item with some fields changed."""
    if isinstance(item, BaseModel):
        return item.model_copy(update=changes)
    if dataclasses.is_dataclass(item) or attrs.has(type(item)):
        changed = copy(item)
        # In place of making another one: that would ask for arguments which are no fields, and run what runs once.
        for name, value in changes.items():
            object.__setattr__(changed, name, value)
    else:
        # The copy() of a class that extends dict makes a plain dict; a copied Item shares its values.
        changed = item.copy() if isinstance(item, Item) else copy(item)
        changed.update(changes)
    return changed
