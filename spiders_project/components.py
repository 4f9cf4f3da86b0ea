"""Classes that settings name by path, or as objects: loaded and judged without Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spiders_project.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


def loaded(setting: str, value: Any) -> Any:
    """What ``value`` names: an import path, or the thing itself.

    Raises:
        ConfigError: It cannot be imported; names the setting.
    """
    if not isinstance(value, str):
        return value
    module, _, name = value.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # noqa: BLE001 - importing somebody's module may raise anything
        text = error if isinstance(error, ImportError | AttributeError | ValueError) else f"{error!r}"
        raise ConfigError(f"{setting} is {value!r}, which cannot be imported: {text or 'no path'}") from None


def is_a(setting: str, value: Any, path: str) -> bool:
    """Whether ``value`` is the class at ``path``, or a subclass of it; that path itself is not imported.

    Raises:
        ConfigError: ``value`` cannot be imported; names the setting.
    """
    return value == path or any(
        f"{one.__module__}.{one.__qualname__}" == path for one in getattr(loaded(setting, value), "__mro__", ())
    )


def has_enabled(setting: str, components: Mapping[Any, Any], path: str) -> bool:
    """Whether a dictionary of components has the class at ``path``, or a subclass of it, and not at None.

    Raises:
        ConfigError: One that had to be looked at cannot be imported; names the setting.
    """
    enabled = [component for component, order in components.items() if order is not None]
    return path in enabled or any(is_a(setting, component, path) for component in enabled)
