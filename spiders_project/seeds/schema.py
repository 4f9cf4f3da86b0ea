"""The schema of a seed: one entry of ``start_urls``, a bare URL or a JSON object.

Knows neither Scrapy nor Redis, so that whoever pushes seeds can check them first, with the very code
that reads them later. Every refusal is a ``SeedError`` whose text a person can act on.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from spiders_project.errors import SeedError
from spiders_project.seeds import fields
from spiders_project.seeds.url import check_url

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: An entry larger than this (bytes) is refused unread: the default of FRONTIER_MAX_REQUEST_BYTES.
MAX_ENTRY_BYTES = 1024 * 1024
#: Deeper JSON would meet Python's recursion limit when the request is copied and packed.
MAX_DEPTH = 32

FIELDS = (
    "url", "method", "headers", "cookies", "body", "form", "json", "meta", "cb_kwargs",
    "callback", "priority", "dont_filter",
)  # fmt: skip
_BODIES = ("body", "form", "json")


@dataclass(frozen=True, slots=True)
class Seed:
    """A checked seed.

    Attributes:
        url: Normalised as ``scrapy.Request`` would; its scheme is allowed and it has a host.
        method: Upper case.
        headers: Name to its values.
        body: What is sent: ``body`` as UTF-8, or ``form`` or ``json`` encoded.
        cookies: As Scrapy takes them: a mapping, or a list of mappings with ``name`` and ``value``.
        callback: Name of a method of the spider; None for its default.
        priority: Higher first.
        dont_filter: True: crawled even when seen before, which is the default for seeds.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    cookies: Mapping[str, Any] | list[dict[str, Any]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    cb_kwargs: Mapping[str, Any] = field(default_factory=dict)
    callback: str | None = None
    priority: int = 0
    dont_filter: bool = True

    def to_request_dict(self) -> dict[str, Any]:
        """All fields by name; the containers are fresh, the callback is still a name."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": deepcopy(self.headers),
            "body": self.body,
            "cookies": deepcopy(self.cookies),
            "meta": deepcopy(self.meta),
            "cb_kwargs": deepcopy(self.cb_kwargs),
            "callback": self.callback,
            "priority": self.priority,
            "dont_filter": self.dont_filter,
        }

    def to_json(self) -> str:
        """The entry that ``parse`` reads back as an equal seed; fields at their defaults are left out."""
        entry = self.to_request_dict()
        entry["body"] = self.body.decode()
        defaults = Seed(self.url).to_request_dict() | {"body": "", "url": None}
        return json.dumps({k: v for k, v in entry.items() if v != defaults[k]}, ensure_ascii=False)


def parse(entry: bytes, *, allowed_schemes: Collection[str] = ("http", "https")) -> Seed:
    """Read one entry of ``start_urls``.

    Args:
        entry: A URL or a JSON object, UTF-8; whitespace around it is ignored.
        allowed_schemes: Schemes a seed may have (FRONTIER_ALLOWED_SCHEMES), in lower case.

    Raises:
        SeedError: The entry is no seed; the text is the reason.
    """
    text = _decode(entry)
    if not text.startswith(("{", "[", '"')) and not _is_json_scalar(text):
        return Seed(check_url(text, allowed_schemes))
    obj = _load(text)
    if not isinstance(obj, dict):
        hint = "; a bare URL needs no quotes" if isinstance(obj, str) else ""
        raise SeedError(f"a seed is a URL or a JSON object, not {fields.kind(obj)}{hint}")
    return _from_object(obj, allowed_schemes)


def _decode(entry: bytes) -> str:
    if len(entry) > MAX_ENTRY_BYTES:
        raise SeedError(f"the entry has {len(entry):,} bytes; at most {MAX_ENTRY_BYTES:,} are allowed")
    try:
        # A file written on Windows begins with a byte order mark.
        text = entry.decode("utf-8").strip().removeprefix("\ufeff").strip()
    except UnicodeDecodeError as error:
        raise SeedError(f"not UTF-8: byte 0x{entry[error.start]:02x} at position {error.start}") from None
    if not text:
        raise SeedError("the entry is empty")
    return text


def _is_json_scalar(text: str) -> bool:
    return text in {"null", "true", "false"} or re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) is not None


def _load(text: str) -> Any:
    try:
        obj = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite,
        )  # fmt: skip
        # JSON can spell half of a surrogate pair, which nothing can encode later.
        json.dumps(obj, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise SeedError(f"broken JSON: {error.msg} at character {error.pos + 1}") from None
    except UnicodeEncodeError:
        raise SeedError("the JSON holds half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise SeedError(f"the JSON is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError:  # an integer of thousands of digits
        raise SeedError("the JSON holds a number that is too large") from None
    if _is_deep(obj):
        raise SeedError(f"the JSON is nested more than {MAX_DEPTH} levels deep")
    return obj


def _is_deep(obj: Any) -> bool:
    level = [obj]
    for _ in range(MAX_DEPTH + 1):
        containers = [
            node.values() if isinstance(node, dict) else node for node in level if isinstance(node, (dict, list))
        ]
        level = [child for container in containers for child in container]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    obj = dict(pairs)
    if len(obj) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SeedError(f"the key {twice!r} stands twice in one JSON object")
    return obj


def _refuse_constant(name: str) -> NoReturn:
    raise SeedError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise SeedError(f"the number {digits[:40]} is too large")
    return number


def _from_object(obj: dict[str, Any], allowed_schemes: Collection[str]) -> Seed:
    for key in obj:
        if key not in FIELDS:
            close = get_close_matches(key, FIELDS, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(FIELDS)}"
            raise SeedError(f"unknown key {key!r}; {hint}")
    if "url" not in obj:
        raise SeedError("'url' is missing")
    if not isinstance(obj["url"], str):
        raise SeedError(f"'url' must be a string, not {fields.kind(obj['url'])}")
    given = [name for name in _BODIES if name in obj]
    if len(given) > 1:
        raise SeedError(f"{' and '.join(map(repr, given))} exclude each other: a request has one body")

    headers = fields.headers(obj.get("headers", {}))
    body, content_type = fields.body(obj, given[0]) if given else (b"", None)
    method = fields.method(obj.get("method", "POST" if given and given[0] != "body" else "GET"))
    if "form" in obj and method in {"GET", "HEAD"}:
        raise SeedError(f"a form is a body, which {method} has not; put its fields into the URL's query")
    if content_type and "content-type" not in map(str.lower, headers):
        headers["Content-Type"] = [content_type]
    return Seed(
        url=check_url(obj["url"].strip(), allowed_schemes),
        method=method,
        headers=headers,
        body=body,
        cookies=fields.cookies(obj.get("cookies", {})),
        meta=fields.meta(obj.get("meta", {})),
        cb_kwargs=fields.cb_kwargs(obj.get("cb_kwargs", {})),
        callback=fields.callback(obj["callback"]) if "callback" in obj else None,
        priority=fields.priority(obj.get("priority", 0)),
        dont_filter=fields.flag("dont_filter", obj.get("dont_filter", True)),
    )
