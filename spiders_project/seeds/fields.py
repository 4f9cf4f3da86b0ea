"""The fields of a seed's JSON object, each checked and named in the refusal."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

from spiders_project.errors import SeedError

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_METHOD = re.compile(r"[A-Z][A-Z-]{0,31}")
_BREAKS = re.compile(r"[\x00\r\n]")
_COOKIE_KEYS = {"name", "value", "domain", "path", "secure"}
#: A second body length or encoding would make the request ambiguous to the server.
_FRAMING_HEADERS = {"content-length", "transfer-encoding"}
#: What Scrapy or the frontier writes into ``meta`` while it works; a seed that brings them would lie.
_MACHINERY_META = {
    "depth", "download_latency", "is_start_request", "redirect_reasons", "redirect_times", "redirect_ttl",
    "redirect_urls", "retry_times", "verbatim_url",
}  # fmt: skip
_MACHINERY_PREFIXES = ("_", "frontier")
_MAX_PRIORITY = 1_000_000_000  # well inside the integers that a sorted set's score keeps exactly


def kind(value: Any) -> str:
    """What ``value`` is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def _shown(value: Any) -> str:
    return json.dumps(value)[:40]


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SeedError(f"{name!r} must be an object, not {kind(value)}")
    return value


def _one_line(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SeedError(f"{where} must be a string, not {kind(value)}")
    if _BREAKS.search(value):
        raise SeedError(f"{where} holds a line break or NUL")
    return value


def method(value: Any) -> str:
    """An HTTP method, in upper case."""
    if not isinstance(value, str) or not _METHOD.fullmatch(value.upper()):
        raise SeedError(f"'method' must be a word such as GET or POST, not {_shown(value)}")
    return value.upper()


def headers(value: Any) -> dict[str, list[str]]:
    """Each header with its list of values."""
    checked = {}
    for name, values in _object("headers", value).items():
        if not _TOKEN.fullmatch(name):
            raise SeedError(f"'headers': {name!r} is no header name")
        if name.lower() in _FRAMING_HEADERS:
            raise SeedError(f"'headers': {name} is set from the body; leave it out")
        values = values if isinstance(values, list) else [values]  # noqa: PLW2901 - one value is a list of one
        checked[name] = [_one_line(f"'headers': {name}", v) for v in values]
    return checked


def cookies(value: Any) -> dict[str, Any] | list[dict[str, Any]]:
    """A mapping name → value, or a list of mappings with name, value and perhaps domain, path, secure."""
    if isinstance(value, list):
        for cookie in value:
            if not isinstance(cookie, dict) or not {"name", "value"} <= cookie.keys() <= _COOKIE_KEYS:
                raise SeedError("'cookies': each has name and value, and perhaps domain, path and secure")
            for key in ("name", "domain", "path"):
                if key in cookie:
                    _one_line(f"'cookies': {key}", cookie[key])
            if "secure" in cookie:
                flag("secure", cookie["secure"])
            _cookie_value(cookie["name"], cookie["value"])
        return value
    if not isinstance(value, dict):
        raise SeedError(f"'cookies' must be an object or a list of objects, not {kind(value)}")
    for name, content in value.items():
        _one_line("'cookies': a name", name)
        _cookie_value(name, content)
    return value


def _cookie_value(name: str, value: Any) -> None:
    if isinstance(value, str):
        _one_line(f"'cookies': {name}", value)
    elif not isinstance(value, (int, float)):
        raise SeedError(f"'cookies': {name} must be a string, number or boolean, not {kind(value)}")


def body(obj: dict[str, Any], name: str) -> tuple[bytes, str | None]:
    """The bytes to send and their content type, from the field ``name``: body, form or json."""
    value = obj[name]
    if name == "json":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), "application/json"
    if name == "form":
        pairs = {key: _form_values(key, content) for key, content in _object("form", value).items()}
        return urlencode(pairs, doseq=True).encode(), "application/x-www-form-urlencoded"
    if not isinstance(value, str):
        raise SeedError(f"'body' must be a string, not {kind(value)}; for an object use 'json' or 'form'")
    return value.encode(), None


def _form_values(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    for one in values:
        if not isinstance(one, (str, int, float)) or isinstance(one, bool):
            raise SeedError(f"'form': {name} must be a string, a number or a list of them, not {kind(one)}")
    return [str(one) for one in values]


def meta(value: Any) -> dict[str, Any]:
    """``Request.meta`` without the keys that Scrapy and the frontier write themselves."""
    checked = _object("meta", value)
    for key in checked:
        if key in _MACHINERY_META or key.startswith(_MACHINERY_PREFIXES):
            raise SeedError(f"'meta': {key!r} is written by the crawler itself; leave it out")
    slot = checked.get("download_slot", "unset")
    if not isinstance(slot, str) or not slot:
        raise SeedError("'meta': download_slot must be a non-empty string")
    return checked


def cb_kwargs(value: Any) -> dict[str, Any]:
    """Keyword arguments of the callback."""
    checked = _object("cb_kwargs", value)
    for key in checked:
        if not key.isidentifier():
            raise SeedError(f"'cb_kwargs': {key!r} is no argument name")
    return checked


def callback(value: Any) -> str:
    """The name of a method of the spider."""
    if not isinstance(value, str) or not value.isidentifier():
        raise SeedError(f"'callback' must be the name of a method of the spider, not {_shown(value)}")
    return value


def priority(value: Any) -> int:
    """A whole number, also as a string."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,12}\s*", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise SeedError(f"'priority' must be a whole number, not {_shown(value)}")
    if abs(value) > _MAX_PRIORITY:
        raise SeedError(f"'priority' must lie between -{_MAX_PRIORITY:,} and {_MAX_PRIORITY:,}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SeedError(f"{name!r} must be true or false, not {kind(value)}")
    return value
