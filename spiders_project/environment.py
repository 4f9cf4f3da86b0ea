"""Settings from environment variables of the same name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def from_environment(defaults: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The settings of ``defaults`` (upper case names only) that ``environ`` has a variable for.

    Each is parsed by its default's type: number, True or False, comma-separated list, JSON object, else text.

    Returns:
        The values, and a sentence for each variable that is malformed and so left out. ``checks.check`` refuses
        those: an exception while Scrapy imports settings.py would reach the user as a traceback.
    """
    values, problems = {}, []
    for name, default in defaults.items():
        if name.isupper() and name in environ:
            try:
                values[name] = _parse(environ[name], default)
            except ValueError as error:
                # An object may hold a password.
                shown = "malformed" if isinstance(default, dict) else repr(environ[name])
                problems.append(f"{name} is {shown} in the environment: it should be {error}")
    return values, problems


def _parse(text: str, default: Any) -> Any:
    for kind, (read, expected) in _READERS.items():
        if isinstance(default, kind):
            try:
                return read(text)
            except ValueError:
                raise ValueError(expected) from None
    return text


def _flag(text: str) -> bool:
    if text not in {"1", "True", "true", "0", "False", "false"}:
        raise ValueError(text)
    return text in {"1", "True", "true"}


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)  # noqa: TRY004 - the text is wrong, not the program
    return value


#: bool stands before int, which it is a kind of.
_READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: (_flag, "True or False"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    dict: (_object, "a JSON object"),
    list: (_words, "words separated by commas"),
}
