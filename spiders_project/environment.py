"""Settings from environment variables of the same name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self


class Malformed(str):
    """The text of a variable that is no value of its setting's type.

    It stands in the settings until ``checks.check`` refuses it in one line: an exception while Scrapy imports
    settings.py would reach the user as a traceback.
    """

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, text: str, reason: str = "") -> Self:
        self = super().__new__(cls, text)
        self.reason = reason
        return self


def from_environment(defaults: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings of ``defaults`` (upper case names only) that ``environ`` has a variable for.

    Each is parsed by its default's type: number, True or False, comma-separated list, JSON object, else text.
    """
    return {
        name: _parse(name, environ[name], default)
        for name, default in defaults.items()
        if name.isupper() and name in environ
    }


def _parse(name: str, text: str, default: Any) -> Any:
    for kind, (read, expected) in _READERS.items():
        if isinstance(default, kind):
            try:
                return read(text)
            except ValueError:
                return Malformed(text, f"{name} is {text!r} in the environment: it should be {expected}")
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
