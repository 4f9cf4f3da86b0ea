"""Where a key stands in a TOML file; the standard parser says it for syntax errors only."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOMLDecodeError = tomllib.TOMLDecodeError
loads = tomllib.loads


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line (from 1) of the key at ``path``, or of the nearest key around it; None where none is found."""
    wanted = [str(part) for part in path]
    best: tuple[int, int] | None = None  # how much of the path, line
    for keys, line in _keys(text):
        if keys[: len(wanted)] == wanted:
            return line
        if keys == wanted[: len(keys)] and (best is None or len(keys) > best[0]):
            best = len(keys), line
    return best[1] if best else None


def _keys(text: str) -> Iterator[tuple[list[str], int]]:
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            found = _names(stripped)
            if found is not None:
                table = found
                yield table, number
        elif "=" in stripped and not stripped.startswith("#"):
            found = _names(f"{stripped.partition('=')[0]} = 0")
            if found is not None:
                yield table + found, number


def _names(line: str) -> list[str] | None:
    """The keys that a table's head or ``key = value`` names; None where the line is neither (inside an array, say)."""
    try:
        value: Any = loads(line)
    except TOMLDecodeError:
        return None
    names = []
    while isinstance(value, dict) and value:
        [(name, value)] = value.items()
        names.append(name)
        if isinstance(value, list):  # [[table]]
            value = value[0]
    return names
