"""What an item class says about its storage, in attributes of the class; all of them are optional.

``collection``       the collection's name; else the class's name in the plural (``Page`` → ``pages``)
``key_fields``       the fields that tell one item from another; else each item of a page is its own
``volatile_fields``  fields whose change is no change of the item (when it was fetched, by which link)
``indexes``          what the collection is searched by: each a field, a tuple of fields (``-`` before one:
                     descending), or a pymongo ``IndexModel``
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from spiders_project.pipelines.indexes import index_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pymongo import IndexModel

T = TypeVar("T")

#: Where plain dicts go; ``ITEM_KEYS`` and ``ITEM_SCHEMAS`` name them by their spider.
DICT_COLLECTION = "items"


@dataclass(frozen=True)
class Shape:
    """How the items of one class, from one spider, are stored."""

    name: str
    path: str
    collection: str
    key_fields: tuple[str, ...] = ()
    volatile_fields: frozenset[str] = frozenset()
    indexes: tuple[IndexModel, ...] = ()

    @property
    def rejected(self) -> str:
        """The collection of what could not be stored."""
        return f"{self.collection}_rejected"

    @property
    def history(self) -> str:
        """The collection of what has changed."""
        return f"{self.collection}_history"


def shape_of(kind: type[Any], spider: str, item_keys: Mapping[str, tuple[str, ...]]) -> Shape:
    """How items of class ``kind`` that ``spider`` yields are stored.

    Plain dicts have no class of their own: they are named ``<spider>:dict``, so that two spiders can both
    call their key ``url``.
    """
    keys = look_up(item_keys, kind, spider)
    if kind is dict:
        return Shape(f"{spider}:dict", class_path(kind), DICT_COLLECTION, keys or ())
    if keys is None:
        keys = getattr(kind, "key_fields", ())
    return Shape(
        name=kind.__name__,
        path=class_path(kind),
        collection=getattr(kind, "collection", None) or plural(kind.__name__),
        key_fields=tuple(keys),
        volatile_fields=frozenset(getattr(kind, "volatile_fields", ())),
        indexes=tuple(index_model(one) for one in getattr(kind, "indexes", ())),
    )


def class_path(kind: type[Any]) -> str:
    """What ``_rejected`` calls an item's class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def look_up(table: Mapping[str, T], kind: type[Any], spider: str) -> T | None:
    """What ``ITEM_KEYS`` or ``ITEM_SCHEMAS`` say: by the class's name, or for plain dicts by their spider's.

    ``dict`` stands for the plain dicts of every spider that is not named itself.
    """
    names = (spider, "dict") if kind is dict else (kind.__name__,)
    return next((table[name] for name in names if name in table), None)


def plural(name: str) -> str:
    """The collection of the class ``name``: ``FeedEntry`` → ``feed_entries``, ``Box`` → ``boxes``."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if re.search(r"[^aeiou]y$", snake):
        return f"{snake[:-1]}ies"
    return f"{snake}es" if re.search(r"(s|x|z|ch|sh)$", snake) else f"{snake}s"
