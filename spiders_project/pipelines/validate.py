"""Refuses items that are not what they should be; each is kept in ``<collection>_rejected``."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn

from bson import Decimal128
from jsonschema import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from scrapy.exceptions import DropItem

from spiders_project.delivery import current_origin
from spiders_project.errors import ConfigError
from spiders_project.pipelines.conformity import Conformity, is_pydantic
from spiders_project.pipelines.encoder import EncodeError, encode
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.shape import look_up
from spiders_project.pipelines.storage import storage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from spiders_project.pipelines.storage import Storage


class Validator:
    """Checks items by their class's own rules (pydantic) and by the JSON Schema that ``ITEM_SCHEMAS`` names.

    Args:
        schemas: Class name, spider name or ``dict`` → a JSON Schema, or ``package:file.json`` that holds one.
        spider: The spider's name.

    Raises:
        ConfigError: A schema is malformed or cannot be read.
    """

    def __init__(self, schemas: Mapping[str, Any], spider: str) -> None:
        self._spider = spider
        self._schemas = {name: _schema_validator(name, schema) for name, schema in schemas.items()}
        self._conform = Conformity()
        self._checks: dict[type[Any], list[Callable[[Any], Any]]] = {}

    def __call__(self, item: Any) -> Any:
        """The item, with the types that its class declares.

        Raises:
            Rejection: It does not fit.
        """
        kind = type(item)
        if kind not in self._checks:
            self._checks[kind] = self._checks_of(kind)
        for check in self._checks[kind]:
            item = check(item)
        return item

    def _checks_of(self, kind: type[Any]) -> list[Callable[[Any], Any]]:
        checks: list[Callable[[Any], Any]] = []
        if is_pydantic(kind):
            checks.append(self._conform)
        schema = look_up(self._schemas, kind, self._spider)
        if schema is not None:
            checks.append(_schema_check(schema))
        return checks


def _schema_validator(name: str, schema: Any) -> Any:
    if isinstance(schema, str):
        schema = _read_schema(name, schema)
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ConfigError(f"ITEM_SCHEMAS[{name!r}] is no JSON Schema: {error.message}") from None
    # The empty registry: a $ref never makes a worker fetch something from the network.
    return kind(schema, registry=Registry(), format_checker=kind.FORMAT_CHECKER)


def _read_schema(name: str, place: str) -> Any:
    package, _, file = place.partition(":")
    try:
        return json.loads(files(package).joinpath(file).read_text("utf-8"))
    except (ImportError, OSError, ValueError) as error:
        raise ConfigError(
            f"ITEM_SCHEMAS[{name!r}] = {place!r} cannot be read ({error}): give a JSON Schema, or"
            " 'package:file.json' for one that lies in a package of the egg"
        ) from None


def _schema_check(validator: Any) -> Callable[[Any], Any]:
    def check(item: Any) -> Any:
        try:
            view = json_view(encode(item))
        except EncodeError as error:
            raise Rejection("unencodable", str(error)) from None
        try:
            wrong: ValidationError | None = next(validator.iter_errors(view), None)
        except Exception as error:  # noqa: BLE001 - a $ref to nowhere or into itself, NaN as a multipleOf
            raise Rejection("invalid-validator", f"the JSON Schema cannot be applied: {error!r}") from None
        if wrong is not None:
            path = wrong.json_path.removeprefix("$").removeprefix(".")
            raise Rejection(f"invalid-{wrong.validator}", f"{path}: {wrong.message}" if path else wrong.message)
        return item

    return check


def json_view(value: Any) -> Any:
    """An encoded value as JSON Schema sees it: a Decimal is a number, a time a string in ISO format."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {name: json_view(one) for name, one in value.items()}
    if isinstance(value, list):
        return [json_view(one) for one in value]
    if isinstance(value, Decimal128):
        number = value.to_decimal()
        return int(number) if number.is_finite() and number == number.to_integral_value() else float(number)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


class ValidatePipeline:
    """The first of the pipelines."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._validate = Validator(storage.options.item_schemas, storage.spider)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the schemas from the crawler's settings.

        Raises:
            ConfigError: One is malformed.
        """
        return cls(storage_of(crawler))

    def process_item(self, item: Any) -> Any:
        """Give the item on, with the types that its class declares; what does not fit is set aside and dropped."""
        try:
            return self._validate(item)
        except Rejection as rejection:
            return self._drop(item, rejection)

    async def _drop(self, item: Any, rejection: Rejection) -> NoReturn:
        await self._storage.reject(item, current_origin.get(), rejection)
        raise DropItem(rejection.reason, log_level="DEBUG")  # the storage has logged it
