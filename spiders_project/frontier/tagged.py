"""Values on the wire: msgpack, with an extension type for each Python type that people put into ``meta``."""

from __future__ import annotations

import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from spiders_project.errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Callable


class _Tag(NamedTuple):
    code: int  # of msgpack's extension type; never used again for another type
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]


# A subclass stands before its base: datetime is a date.
_TAGS: dict[type, _Tag] = {
    tuple: _Tag(1, lambda value: pack(list(value)), lambda data: tuple(unpack(data))),
    set: _Tag(2, lambda value: pack(list(value)), lambda data: set(unpack(data))),
    frozenset: _Tag(3, lambda value: pack(list(value)), lambda data: frozenset(unpack(data))),
    datetime: _Tag(4, lambda value: value.isoformat().encode(), lambda data: datetime.fromisoformat(data.decode())),
    date: _Tag(5, lambda value: value.isoformat().encode(), lambda data: date.fromisoformat(data.decode())),
    time: _Tag(6, lambda value: value.isoformat().encode(), lambda data: time.fromisoformat(data.decode())),
    timedelta: _Tag(
        7,
        lambda value: pack([value.days, value.seconds, value.microseconds]),
        lambda data: timedelta(*unpack(data)),
    ),
    Decimal: _Tag(8, lambda value: str(value).encode(), lambda data: Decimal(data.decode())),
    uuid.UUID: _Tag(9, lambda value: value.bytes, lambda data: uuid.UUID(bytes=data)),
    int: _Tag(10, lambda value: b"%d" % value, int),
    complex: _Tag(11, lambda value: pack([value.real, value.imag]), lambda data: complex(*unpack(data))),
}
_READERS = {tag.code: tag.read for tag in _TAGS.values()}

# msgpack holds these itself; a subclass (``Headers``, an ``IntEnum``) is written as its base.
_BASES: tuple[type, ...] = (dict, list, str, bytes, bytearray, float)


def _default(value: Any) -> Any:
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return int(value)
    for type_, tag in _TAGS.items():
        if isinstance(value, type_):
            return msgpack.ExtType(tag.code, tag.write(value))
    for base in _BASES:
        if isinstance(value, base):
            return base.__str__(value) if base is str else base(value)
    raise TypeError(f"{type(value).__qualname__} object")


def _ext_hook(code: int, data: bytes) -> Any:
    reader = _READERS.get(code)
    if reader is None:
        raise CodecError(f"unknown type code {code}: written by a newer version?")
    return reader(data)


def pack(value: Any) -> bytes:
    """Write a value; lone surrogates, which broken pages put into links, are kept.

    Raises:
        TypeError, ValueError, OverflowError, RecursionError: It holds something that has no form on the wire.
    """
    # strict_types sends tuples and subclasses to _default, where they keep their type.
    packed: bytes = msgpack.packb(value, default=_default, strict_types=True, unicode_errors="surrogatepass")
    return packed


def unpack(data: bytes) -> Any:
    """Read what ``pack`` wrote; whatever msgpack raises on garbage passes through."""
    return msgpack.unpackb(data, ext_hook=_ext_hook, strict_map_key=False, unicode_errors="surrogatepass")
