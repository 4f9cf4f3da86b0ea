"""What the value of a setting may look like: types with bounds, and one sentence for a value that does not fit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from spiders_project.errors import ConfigError
from spiders_project.keys import NAMESPACE, NAMESPACE_EXPECTED
from spiders_project.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"


def split(value: Any) -> Any:
    """The words of a comma-separated text; a list as it is."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def load(value: Any) -> Any:
    """The value of a JSON text; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"it should be a JSON object ({error})") from None


def whole(value: Any) -> Any:
    """The number in a text, by int() as Scrapy reads it, which is stricter about strings than pydantic."""
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("it should be a whole number") from None


def flag(value: Any) -> Any:
    """What Scrapy's getbool() takes, and nothing else."""
    known = {"1": True, "True": True, "true": True, "0": False, "False": False, "false": False}
    if str(value) not in known:
        raise ValueError("it should be True or False")
    return known[str(value)]


def _form(pattern: str, expected: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"it should be {expected}")
        return value

    return AfterValidator(check)


def _reachable(value: str) -> str:
    """``value``, a Redis URL; redis-py would raise over the port, and take database 0 for one that is no number."""
    parts = urlsplit(value)
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("its port should be a number from 0 to 65535") from None
    if parts.scheme != "unix" and not re.fullmatch(r"/?\d*", parts.path):
        raise ValueError(f"its database should be a number, as in {DEFAULT_REDIS_URL}")
    return value


def _seeds_key(value: str) -> str:
    try:
        _ = value % {"name": ""}
    except (KeyError, ValueError, TypeError):
        raise ValueError("it should be a key in which %(name)s, and no other %, stands for the namespace") from None
    return value


def _key_fields(value: dict[str, Any]) -> dict[str, Any]:
    for name, fields in value.items():
        names = [fields] if isinstance(fields, str) else fields
        if not isinstance(names, list | tuple) or not names or not all(isinstance(one, str) for one in names):
            raise ValueError(f"it should name a field, or a list of fields, for {name!r}")
    return value


def some(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("it should name at least one")
    return value


Words = Annotated[list[str], BeforeValidator(split)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(load)]
Whole = Annotated[int, BeforeValidator(whole)]
Count = Annotated[Whole, Field(ge=0)]
Positive = Annotated[Whole, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Contact = Annotated[str, _form(r"(https?://\S+|[^@\s]+@[^@\s]+)?", "a web address or a mail address")]
Namespace = Annotated[str, _form(NAMESPACE, NAMESPACE_EXPECTED)]
MongoUri = Annotated[str, _form(r"mongodb(\+srv)?://\S+", "a URL such as mongodb://127.0.0.1:27017")]
RedisUrl = Annotated[
    str, _form(r"(rediss?|unix)://\S+", f"a URL such as {DEFAULT_REDIS_URL}"), AfterValidator(_reachable)
]
SeedsKey = Annotated[str, AfterValidator(_seeds_key)]
ItemKeys = Annotated[JsonObject, AfterValidator(_key_fields)]
Statuses = Annotated[list[Annotated[int, BeforeValidator(whole)]], BeforeValidator(split)]
Database = Annotated[str, _form(r'[^/\\. "$*<>:|?\x00]{1,63}', "a database name of at most 63 characters")]
WriteConcern = Annotated[str, _form(r"(?!0$)[A-Za-z0-9_-]+", "a number of members from 1 on, 'majority' or a tag")]
ImportPath = Annotated[str, _form(r"(\w+(\.\w+)+)?", "an import path such as package.module.function")]
Flag = Annotated[bool, BeforeValidator(flag)]

Model = TypeVar("Model", bound=BaseModel)

# MONGO_WRITE_CONCERN is a number or a word.
MODEL = ConfigDict(extra="forbid", hide_input_in_errors=True, alias_generator=str.upper, coerce_numbers_to_str=True)


_SECRETS: dict[str, Callable[[Any], str]] = {
    "MONGO_URI": lambda value: mask(str(value)),
    "REDIS_URL": lambda value: mask(str(value)),
    "REDIS_PARAMS": lambda _: "malformed",
    "REDIS_SENTINEL_PARAMS": lambda _: "malformed",
}


def validated(model: type[Model], settings: Mapping[str, Any]) -> Model:
    """``model`` with what ``settings`` say; what is absent or None has its default.

    Raises:
        ConfigError: A value is malformed or out of bounds; names the setting, and shows no secret.
    """
    names = [name.upper() for name in model.model_fields]
    given = {name: settings[name] for name in names if settings.get(name) is not None}
    try:
        return model(**given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        shown = _SECRETS.get(name, repr)(given[name])
        raise ConfigError(f"{name} is {shown}: {_reason(first)}") from None


def _reason(error: Any) -> str:
    if error["type"] == "value_error":  # raised by the validators above
        return str(error["ctx"]["error"])
    return "it " + str(error["msg"]).removeprefix("Input ")
