"""What an item class says about its storage, in attributes of the class; all of them are optional.

``collection``       the collection's name; else the class's name in the plural (``Page`` → ``pages``)
``key_fields``       the fields that tell one item from another; else each item of a page is its own
``volatile_fields``  fields whose change is no change of the item (when it was fetched, by which link)
``indexes``          what the collection is searched by: each a field, a tuple of fields (``-`` before one:
                     descending), or a pymongo ``IndexModel``
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from itemadapter import ItemAdapter
from pymongo import IndexModel

from spiders_project import items
from spiders_project.errors import StorageError
from spiders_project.pipelines.indexes import index_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    import scrapy

T = TypeVar("T")

#: Where plain dicts go; ``ITEM_KEYS`` and ``ITEM_SCHEMAS`` name them by their spider.
DICT_COLLECTION = "items"
#: Behind a collection's name: where its rejected items are, and its history.
REJECTED = "_rejected"
HISTORY = "_history"
#: MongoDB takes 255 bytes for database (63 at most), dot, collection and the longer one of our endings.
MAX_NAME_BYTES = 255 - 64 - len(REJECTED)


@dataclass(frozen=True)
class Shape:
    """How the items of one class, from one spider, are stored; with ``problem``, why they are not."""

    name: str
    path: str
    collection: str
    key_fields: tuple[str, ...] = ()
    volatile_fields: frozenset[str] = frozenset()
    indexes: tuple[IndexModel, ...] = ()
    problem: str | None = None

    @property
    def rejected(self) -> str:
        """The collection of what could not be stored."""
        return self.collection + REJECTED

    @property
    def history(self) -> str:
        """The collection of what has changed."""
        return self.collection + HISTORY


def shape_of(kind: type[Any], spider: str, item_keys: Mapping[str, tuple[str, ...]]) -> Shape:
    """How items of class ``kind`` that ``spider`` yields are stored.

    Plain dicts have no class of their own: they are named ``<spider>:dict``, so that two spiders can both
    call their key ``url``.

    Raises:
        StorageError: The class says something that cannot be; the text names it and the right form.
    """
    keys = look_up(item_keys, kind, spider)
    if kind is dict:
        return Shape(f"{spider}:dict", class_path(kind), DICT_COLLECTION, keys or ())
    said = _Said(kind)
    collection = said("collection")
    return Shape(
        name=kind.__name__,
        path=class_path(kind),
        collection=said.collection(plural(kind.__name__) if collection is None else collection),
        key_fields=said.names("key_fields") if keys is None else keys,
        volatile_fields=frozenset(said.names("volatile_fields")),
        indexes=said.indexes(),
    )


class _Said:
    """What a class says in its attributes, read with care: people write these by hand."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        # A field may have such a name, too; of those only a default counts that can be meant for us.
        fields = ItemAdapter.get_field_names_from_class(kind) if ItemAdapter.is_item_class(kind) else None
        self._fields = frozenset(fields or ())

    def __call__(self, name: str) -> Any:
        value = getattr(self._kind, name, None)
        return None if name in self._fields and not (value and isinstance(value, str | tuple | list)) else value

    def _refuse(self, name: str, why: str) -> StorageError:
        return StorageError(f"{self._kind.__qualname__}.{name} = {self(name)!r}: {why}")

    def collection(self, name: Any) -> str:
        if problem := problem_of_name(name):
            raise StorageError(f"{self._kind.__qualname__}.collection = {name!r}: {problem}")
        return str(name)

    def names(self, name: str) -> tuple[str, ...]:
        value = self(name)
        if value is None:
            return ()
        if not isinstance(value, tuple | list | set | frozenset) or not all(_is_name(one) for one in value):
            example = value if _is_name(value) else "isbn"
            raise self._refuse(name, f'write the names of fields in a tuple, as ("{example}",)')
        return tuple(value)

    def indexes(self) -> tuple[IndexModel, ...]:
        value = self("indexes")
        if value is None:
            return ()
        if not isinstance(value, tuple | list) or not all(_is_index(one) for one in value):
            raise self._refuse(
                "indexes",
                'write a tuple of indexes, each a field "author", a descending one "-year", several of them'
                ' ("publisher", "-year"), or a pymongo IndexModel: ("author",) is one index',
            )
        return tuple(index_model(one) for one in value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.strip("-") != ""


def _is_index(value: Any) -> bool:
    several = isinstance(value, tuple | list) and len(value) > 0 and all(_is_name(one) for one in value)
    return isinstance(value, IndexModel) or _is_name(value) or several


def problem_of_name(name: Any) -> str | None:
    """Why MongoDB, or we, cannot have a collection of this name; None if we can."""
    if not isinstance(name, str) or not name:
        return "a collection's name is a text that is not empty"
    if not name.isprintable() or "$" in name or ".." in name or name != name.strip(".") or name.startswith("system."):
        return (
            "MongoDB takes no such name for a collection: no $, no NUL, no dot at an end or beside another one,"
            " and nothing that begins with system."
        )
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"a collection's name has {MAX_NAME_BYTES} bytes at most"
    if name.endswith((REJECTED, HISTORY)):
        return f"names that end in {REJECTED} and {HISTORY} are kept for what was rejected and what has changed"
    return None


def item_classes(spider: type[scrapy.Spider]) -> dict[str, type[Any]]:
    """The item classes of the project and of a spider's module, by their paths.

    Only these are ever made from what lies in MongoDB: a path that stands there is looked up, never imported.
    """
    modules = [one for one in (items, sys.modules.get(spider.__module__)) if one is not None]
    kinds = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return {class_path(kind): kind for kind in kinds if ItemAdapter.is_item_class(kind)} | {class_path(dict): dict}


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
