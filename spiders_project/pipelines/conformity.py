"""Whether pydantic items are what their classes say, without running the classes' own validators a second time.

Those have run when the item was made, and need not bear it twice: ``v.replace("£", "")`` finds a float, and
``"SKU-" + v`` adds another prefix. So a field is looked at for its type and constraints, strictly: what a validated
item has there fits. Only an item with a field that does not fit was made or changed past its class, by
``model_construct()`` or an assignment: that one is validated as if it came from outside, with all validators.
"""

from __future__ import annotations

import dataclasses
from copy import copy
from dataclasses import InitVar
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic.dataclasses import is_pydantic_dataclass

from spiders_project.pipelines.encoder import MAX_DEPTH
from spiders_project.pipelines.reasons import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable

#: Validators after which a value may be of any type.
_ANY_TYPE = (AfterValidator, PlainValidator, WrapValidator)


def is_pydantic(kind: type[Any]) -> bool:
    """Whether pydantic made the class."""
    return issubclass(kind, BaseModel) or is_pydantic_dataclass(kind)


class Conformity:
    """Checks items of pydantic's classes, and such objects within them."""

    def __init__(self) -> None:
        self._kinds: dict[type[Any], _Kind] = {}

    def __call__(self, item: Any) -> Any:
        """The item; a validated one where it did not conform to its class.

        Raises:
            Rejection: It cannot be validated.
        """
        return self._check(item, (), 0)

    def _check(self, value: Any, path: tuple[str, ...], depth: int) -> Any:
        if depth > MAX_DEPTH:
            return value  # too deep to be stored
        if isinstance(value, dict):
            checked = {key: self._check(one, (*path, str(key)), depth + 1) for key, one in value.items()}
            return value if all(checked[key] is value[key] for key in checked) else checked
        if isinstance(value, list | tuple) and type(value) in {list, tuple}:
            parts = [self._check(one, (*path, str(n)), depth + 1) for n, one in enumerate(value)]
            return value if all(map(_is, parts, value)) else type(value)(parts)
        return self._object(value, path, depth) if is_pydantic(type(value)) else value

    def _object(self, item: Any, path: tuple[str, ...], depth: int) -> Any:
        kind = self._kinds.get(type(item))
        if kind is None:
            kind = self._kinds[type(item)] = _Kind(type(item))
        fields = kind.fields(item)
        checked = {name: self._check(value, (*path, name), depth + 1) for name, value in fields.items()}
        changes = {name: value for name, value in checked.items() if value is not fields[name]}
        if changes:
            item = _with(item, changes)
        try:
            return kind.validated(item, checked)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join((*path, *(str(part) for part in first["loc"])))
            raise Rejection(f"invalid-{first['type']}", f"{where}: {first['msg']}") from None
        except Exception as error:  # noqa: BLE001 - a validator of the user's may raise anything
            raise Rejection("invalid-validator", f"{'.'.join(path) or 'the item'}: {error!r}") from None


class _Kind:
    """What is known of one class."""

    def __init__(self, kind: type[Any]) -> None:
        self._infos: dict[str, Any] = getattr(kind, "__pydantic_fields__", {})
        self._validate = TypeAdapter(kind).validate_python
        declared = getattr(kind, "__dataclass_fields__", {})
        #: Arguments that are no fields: without them an instance cannot be made anew.
        self._lost = any(
            isinstance(one.type, InitVar) or str(one.type).startswith(("InitVar", "dataclasses.InitVar"))
            for one in declared.values()
        )
        self._frozen = bool(getattr(kind, "model_config", {}).get("frozen")) or any(
            info.frozen for info in self._infos.values()
        )
        self._derived = {name for name, one in declared.items() if not one.init}
        converted = {
            name
            for one in kind.__pydantic_decorators__.field_validators.values()
            if one.info.mode != "before"
            for name in one.info.fields
        }
        self._checks = {
            name: check
            for name, info in self._infos.items()
            if converted.isdisjoint((name, "*")) and (check := _field_check(info)) is not None
        }

    def fields(self, item: Any) -> dict[str, Any]:
        """The fields that somebody has set; defaults are not validated by pydantic either."""
        values = {**item.__dict__, **(getattr(item, "__pydantic_extra__", None) or {})}
        if not isinstance(item, BaseModel):
            names = (one.name for one in dataclasses.fields(item))
            values = {name: getattr(item, name) for name in names if hasattr(item, name)}
        given = getattr(item, "__pydantic_fields_set__", ())
        return {name: value for name, value in values.items() if name in given or not self._is_default(name, value)}

    def _is_default(self, name: str, value: Any) -> bool:
        return name in self._infos and self._infos[name].default is value

    def validated(self, item: Any, fields: dict[str, Any]) -> Any:
        """The item where it conforms; else another one, in which what did not has passed all its validators.

        Raises:
            ValidationError: It does not fit.
        """
        wrong = [name for name, check in self._checks.items() if name in fields and not check(fields[name])]
        present = item.__dict__ if isinstance(item, BaseModel) else fields
        missing = [name for name, info in self._infos.items() if info.is_required() and name not in present]
        if not wrong and (self._lost or not missing):
            return item
        if self._lost:
            for name in wrong:
                info = self._infos[name]
                TypeAdapter(_annotated(info.annotation, info.metadata)).validate_python(fields[name])
            return item
        if missing or not isinstance(item, BaseModel) or self._frozen:
            return self._validate({n: one for n, one in fields.items() if n not in self._derived}, by_name=True)
        fresh = item.model_copy()
        for name in wrong:
            fresh.__pydantic_validator__.validate_assignment(fresh, name, fields[name])
        return fresh


def _field_check(info: Any) -> Callable[[Any], bool] | None:
    """Whether a value fits a field's type and constraints; None where a function may have made anything of it."""
    metadata = [one for one in info.metadata if not isinstance(one, BeforeValidator)]
    if any(isinstance(one, _ANY_TYPE) for one in metadata) or _has_function(info.annotation):
        return None
    try:
        validate: Callable[..., Any] = TypeAdapter(_annotated(info.annotation, metadata)).validate_python
    except Exception:  # noqa: BLE001 - a type that pydantic takes only with the class's own configuration
        return None

    def check(value: Any) -> bool:
        try:
            fitting = validate(value, strict=True)
        except ValidationError:
            return False
        return fitting is value or (type(fitting) is type(value) and bool(fitting == value))

    return check


def _annotated(kind: Any, metadata: list[Any]) -> Any:
    for one in metadata:
        kind = Annotated[kind, one]
    return kind


def _has_function(annotation: Any) -> bool:
    return any(isinstance(one, (BeforeValidator, *_ANY_TYPE)) or _has_function(one) for one in get_args(annotation))


def _is(one: Any, other: Any) -> bool:
    return one is other


def _with(item: Any, changes: dict[str, Any]) -> Any:
    if isinstance(item, BaseModel):
        return item.model_copy(update=changes)
    changed = copy(item)
    for name, value in changes.items():
        object.__setattr__(changed, name, value)
    return changed
