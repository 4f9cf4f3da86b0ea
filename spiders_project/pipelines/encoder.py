"""From Python values to what BSON can hold: the table of ``docs/storage.md``, as code.

Encoding is idempotent (what was read from MongoDB encodes to itself) and never changes its input.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, DecimalException, Inexact
from enum import Enum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from os import PathLike, fspath
from typing import Any
from uuid import UUID

import attrs
import bson
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions, DatetimeConversion
from pydantic import AnyUrl, BaseModel, PostgresDsn
from pydantic_core import MultiHostUrl

from spiders_project.errors import RejectedItem

#: How every document of ours is written and read: times come back aware, in UTC; UUIDs come back as UUIDs.
#: What another program has stored, a date after the year 9999 or a text that is no UTF-8, is read all the same.
CODEC: CodecOptions[dict[str, Any]] = CodecOptions(
    tz_aware=True,
    uuid_representation=4,
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    unicode_decode_error_handler="replace",
)

#: MongoDB refuses more than 100 levels, and a record of the history puts a value four levels down.
MAX_DEPTH = 90

_INT64 = range(-(2**63), 2**63)
_DECIMAL128 = Context(prec=34, Emin=-6143, Emax=6144, traps=[Inexact])
# Dots and leading dollars would put a field out of reach of queries and updates; NUL ends a BSON key.
# They become their full-width twins, and NUL its picture.
_KEY_ESCAPES = str.maketrans({".": "\uff0e", "\0": "\u2400"})


class EncodeError(RejectedItem):
    """A value has no form in BSON; names the path and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


class _Unencodable(Exception):  # noqa: N818 - carries the path up through the recursion, never leaves this module
    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.path: list[str] = []


def encode(value: Any) -> Any:
    """What MongoDB stores for ``value``; a dict for every kind of item.

    Raises:
        EncodeError: The value, or one inside it, has no form in BSON.
    """
    try:
        return _encode(value, 0)
    except _Unencodable as error:
        raise EncodeError(".".join(reversed(error.path)), error.reason) from None
    except Exception as error:  # noqa: BLE001 - a property, a __str__ or an iterator of the user's may raise anything
        raise EncodeError("", f"{type(error).__name__}: {error}") from None


def decode(raw: bytes) -> dict[str, Any]:
    """The document that BSON holds, as a reader of MongoDB gets it."""
    return bson.decode(raw, codec_options=CODEC)


def _encode(value: Any, depth: int) -> Any:
    convert = _CONVERTERS.get(type(value)) or _converter(type(value))
    return convert(value, depth)


def _converter(kind: type) -> Callable[[Any, int], Any]:
    convert = _CONVERTERS[kind] = _find_converter(kind)
    return convert


def _find_converter(kind: type) -> Callable[[Any, int], Any]:
    if issubclass(kind, Enum):  # before str and int, which an enumeration may extend
        return lambda value, depth: _encode(value.value, depth)
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
        return lambda value, depth: _pairs(((n, getattr(value, n)) for n in names if hasattr(value, n)), depth)
    if attrs.has(kind):
        names = tuple(field.name for field in attrs.fields(kind))
        return lambda value, depth: _pairs(((n, getattr(value, n)) for n in names if hasattr(value, n)), depth)
    return next((convert for base, convert in _BY_BASE if issubclass(kind, base)), _refuse)


def _refuse(value: Any, _depth: int) -> Any:
    raise _Unencodable(f"a {type(value).__module__}.{type(value).__qualname__} has no form in MongoDB")


def _as_is(value: Any, _depth: int) -> Any:
    return value


def _text(value: str, _depth: int) -> str:
    text = str.__str__(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two surrogates that belong together become their character; a lone one becomes U+FFFD.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _int(value: int, _depth: int) -> Any:
    # A range asks its members one by one whether a subclass's number is among them.
    number = int(value)
    return number if number in _INT64 else _decimal(Decimal(number), 0)


def _decimal(value: Decimal, _depth: int) -> Any:
    try:
        return Decimal128(_DECIMAL128.create_decimal(value))
    except DecimalException:
        return str(value)


def _datetime(value: datetime, _depth: int) -> datetime:
    try:
        aware = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
    except OverflowError:
        raise _Unencodable(f"{value.isoformat()} lies outside of the years 1 to 9999 in UTC") from None
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)


def _date(value: date, _depth: int) -> datetime:
    return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)


@lru_cache(maxsize=4096)
def field_name(key: str) -> str:
    """The name of the field that a key becomes."""
    text = _text(key, 0).translate(_KEY_ESCAPES)
    return f"\uff04{text[1:]}" if text.startswith("$") else text


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, bytes):
        key = key.decode("utf-8", "replace")
    elif isinstance(key, datetime | date | time):
        key = key.isoformat()
    try:
        return field_name(key if isinstance(key, str) else str(key))
    except ValueError as error:  # Python makes no text of an int of 5,000 digits
        raise _Unencodable(f"a key of type {type(key).__name__} has no name: {error}") from None


def _pairs(pairs: Any, depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        raise _Unencodable(f"nested deeper than {MAX_DEPTH} levels, or inside itself")
    encoded: dict[str, Any] = {}
    for key, value in pairs:
        name = field_name(key) if type(key) is str else _key(key)
        if name in encoded:
            raise _Unencodable(f"two keys become the same field {name!r}")
        try:
            convert = _CONVERTERS.get(type(value)) or _converter(type(value))
            encoded[name] = convert(value, depth + 1)
        except _Unencodable as error:
            error.path.append(name)
            raise
    return encoded


def _list(values: Any, depth: int) -> list[Any]:
    if depth > MAX_DEPTH:
        raise _Unencodable(f"nested deeper than {MAX_DEPTH} levels, or inside itself")
    encoded: list[Any] = []
    try:
        for value in values:
            convert = _CONVERTERS.get(type(value)) or _converter(type(value))
            encoded.append(convert(value, depth + 1))
    except _Unencodable as error:
        error.path.append(str(len(encoded)))
        raise
    return encoded


def _set(values: Any, depth: int) -> list[Any]:
    # Sorted, so that one set is always one list (and one content hash), in every process.
    return sorted(_list(values, depth), key=lambda value: (type(value).__name__, _sort_key(value)))


def _sort_key(value: Any) -> Any:
    sortable = isinstance(value, str | bytes | datetime) or (isinstance(value, int | float) and not math.isnan(value))
    return (0, value) if sortable else (1, repr(value))


def _pydantic(value: BaseModel, depth: int) -> dict[str, Any]:
    return _pairs({**value.__dict__, **(value.__pydantic_extra__ or {})}.items(), depth)


#: Pydantic's own, with one host or several; they are classes of their core or of their own, by their version.
_URLS = tuple(
    {
        base
        for kind in (AnyUrl, PostgresDsn, MultiHostUrl)
        for base in getattr(kind, "__mro__", ())
        if base.__module__.startswith("pydantic")
    }
)

#: What a type that is not named below is converted by: the first base that fits.
_BY_BASE: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    (str, _text),
    (int, _int),
    (float, lambda value, _: float(value)),
    (BaseModel, _pydantic),
    (Mapping, lambda value, depth: _pairs(value.items(), depth)),
    (AbstractSet, _set),
    (bytes | bytearray | memoryview, lambda value, _: bytes(value)),
    ((Sequence, deque), _list),
    (datetime, _datetime),
    (date, _date),
    (time, lambda value, _: value.isoformat()),
    (Decimal, _decimal),
    (timedelta, lambda value, _: value.total_seconds()),
    (UUID, lambda value, _: UUID(int=value.int)),
    ((IPv4Address, IPv6Address, IPv4Network, IPv6Network, *_URLS), lambda value, _: str(value)),
    (PathLike, lambda value, _: _text(fspath(value), 0)),
)

_CONVERTERS: dict[type, Callable[[Any, int], Any]] = {
    str: _text,
    bool: _as_is,
    int: _int,
    float: _as_is,
    type(None): _as_is,
    dict: lambda value, depth: _pairs(value.items(), depth),
    list: _list,
    tuple: _list,
    set: _set,
    frozenset: _set,
    bytes: _as_is,
    datetime: _datetime,
    date: _date,
    timedelta: lambda value, _: value.total_seconds(),
    Decimal: _decimal,
    UUID: _as_is,
    IPv4Address: lambda value, _: str(value),
    IPv6Address: lambda value, _: str(value),
    re.Pattern: lambda value, _: Regex.from_native(value),
    **dict.fromkeys((Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp), _as_is),
}
