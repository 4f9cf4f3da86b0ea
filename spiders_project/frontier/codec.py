"""The wire format of a request: msgpack with tagged types, a version, only what differs from the defaults.

Nothing that is read here is executed: a payload holds data, and the *names* of a callback and of a request class,
which must exist already (a method of this spider, a class that this process has imported).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from spiders_project.errors import CodecError
from spiders_project.frontier.tagged import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Raised when a payload of an older form can no longer be read; a worker of another version may still read it.
FORMAT = 1

# Field → (key on the wire, default). The URL has a place of its own.
_FIELDS: dict[str, tuple[str, Any]] = {
    "callback": ("c", None),
    "errback": ("e", None),
    "method": ("m", "GET"),
    "headers": ("h", {}),
    "body": ("b", b""),
    "cookies": ("k", {}),
    "meta": ("a", {}),
    "cb_kwargs": ("w", {}),
    "priority": ("p", 0),
    "dont_filter": ("f", False),
    "encoding": ("n", "utf-8"),
    "flags": ("g", []),
    "_class": ("_", None),
}
_NAMES = {key: name for name, (key, _) in _FIELDS.items()}


def encode(fields: Mapping[str, Any], max_bytes: int = 1 << 20) -> bytes:
    """Write a request.

    Args:
        fields: As ``scrapy.Request.to_dict`` names them; callback and errback are names.
        max_bytes: The most that a payload may take.

    Raises:
        CodecError: A value cannot be written (its key and type are named), or the payload is too large (F6, F23).
    """
    rest = {}
    for name, (key, default) in _FIELDS.items():
        value = fields.get(name, default)
        if value != default:
            rest[key] = value
    try:
        payload = pack([FORMAT, fields["url"], rest] if rest else [FORMAT, fields["url"]])
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise CodecError(_blame(rest)) from None
    if len(payload) > max_bytes:
        sizes = {key: len(pack(value)) for key, value in rest.items()}
        largest = max(sizes, key=lambda key: sizes[key], default="")
        raise CodecError(
            f"{len(payload)} bytes, more than FRONTIER_MAX_REQUEST_BYTES ({max_bytes}); "
            f"{_NAMES.get(largest, 'url')} takes {sizes.get(largest, len(payload))}"
        )
    return payload


def _blame(rest: Mapping[str, Any]) -> str:
    """Which key of which field cannot be written, and why."""
    for key, value in rest.items():
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        for name, part in parts:
            try:
                pack([name, part])
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                where = _NAMES[key] if name is None else f"{_NAMES[key]}[{name!r}]"
                return f"{where} cannot be written: {error}"
    return "the request cannot be written"


def decode(payload: bytes) -> dict[str, Any]:
    """Read a request: the fields that ``encode`` was given, those at their defaults left out.

    Raises:
        CodecError: It is no payload of ours, or of a version that this one does not know (F10).
    """
    try:
        value = unpack(payload)
        version, url, rest = value if len(value) > 2 else (*value, {})  # noqa: PLR2004 - a request without extras
    except CodecError:
        raise
    except Exception as error:
        # Whatever msgpack and the readers make of garbage, it is the same to the caller.
        raise CodecError(f"no request: {error!r}") from error
    if version != FORMAT:
        raise CodecError(f"format {version!r}, this worker reads format {FORMAT}")
    if not isinstance(url, str) or not isinstance(rest, dict) or not rest.keys() <= _NAMES.keys():
        raise CodecError("no request: its fields are not those of format 1")
    return {"url": url, **{_NAMES[key]: value for key, value in rest.items()}}


def method_name(owner: object, method: Callable[..., Any]) -> str:
    """The name by which ``owner`` knows its bound ``method``.

    ``Request.to_dict`` looks through all members of the spider for each request; the method knows its own name.

    Raises:
        CodecError: It is no method of ``owner`` (a lambda, a closure, another object's method).
    """
    name = getattr(method, "__name__", "")
    if getattr(method, "__self__", None) is owner and getattr(type(owner), name, None) is getattr(
        method, "__func__", None
    ):
        return name
    raise CodecError(f"callback {method!r} cannot be written: it is not a method of the spider")


def method_of(owner: object, name: str) -> Callable[..., Any]:
    """The method of ``owner`` that a payload names.

    Raises:
        CodecError: There is none: an older or newer version of the spider wrote it, or somebody tampers.
    """
    if name.startswith("__") or not callable(getattr(type(owner), name, None)):
        raise CodecError(f"callback {name!r} is no method of {type(owner).__qualname__}")
    method: Callable[..., Any] = getattr(owner, name)
    return method


def class_of(path: str, base: type) -> type:
    """The subclass of ``base`` that a payload names; only what this process has imported already is looked at.

    Raises:
        CodecError: There is none.
    """
    module, _, name = path.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    if not isinstance(found, type) or not issubclass(found, base):
        raise CodecError(f"request class {path!r} is not known here")
    return found
