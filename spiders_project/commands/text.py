"""How the project's commands write tables, times and ages, and read ages that people type."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST = 100  # characters of an error in a table


def say(text: str) -> None:
    """Data, for stdout."""
    sys.stdout.write(f"{_writable(text)}\n")


def tell(text: str) -> None:
    """Progress, for stderr."""
    sys.stderr.write(f"{_writable(text)}\n")


def _writable(text: str) -> str:
    """``text`` with lone surrogates, which an error or a page may hold and no encoding has, written as escapes."""
    return text.encode(errors="backslashreplace").decode()


def as_json(value: Any) -> str:
    """``value``, with dataclasses as objects and without bytes (payloads)."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _plain(part) for name, part in pairs if not isinstance(part, bytes)}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns, numbers to the right."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    right = [bool(cells) and all(re.fullmatch(r"[\d,]+", row[i]) for row in cells) for i in range(len(head))]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    lines = [
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in [head, *cells]
    ]
    return "\n".join(lines)


def clock(seconds: float | None) -> str:
    """A unix time in UTC."""
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}Z" if seconds else "-"


def span(seconds: float) -> str:
    """A duration in its two largest units: ``2h 5m``."""
    whole = round(seconds)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, whole = divmod(whole, _UNITS[unit])
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def shortened(text: str) -> str:
    """One line of ``text``."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def age(text: str) -> float:
    """Seconds in ``90s``, ``10m``, ``2h``, ``1h30m``, ``7d``.

    Raises:
        UsageError: It is no age.
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text)
    seconds = sum((float(count) * _UNITS[unit] for count, unit in parts), 0.0)
    if not parts or "".join(count + unit for count, unit in parts) != text or not 0 < seconds < inf:
        raise UsageError(f"{text!r} is no length of time: write 90s, 10m, 2h, 1h30m or 7d", print_help=False)
    return seconds
