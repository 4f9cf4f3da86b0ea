"""What the settings say about storage, in the form in which the storage wants it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spiders_project.config import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULTS = Options()


@dataclass(frozen=True)
class StorageOptions:
    """How items are stored; ``config.Options`` has a row for each ``MONGO_*`` and ``ITEM_*`` setting."""

    uri: str = _DEFAULTS.mongo_uri
    database: str = _DEFAULTS.mongo_database
    write_concern: str | int = _DEFAULTS.mongo_write_concern
    batch_size: int = _DEFAULTS.mongo_batch_size
    flush_seconds: float = _DEFAULTS.mongo_flush_seconds
    buffer_items: int = _DEFAULTS.mongo_buffer_items
    buffer_bytes: int = _DEFAULTS.mongo_buffer_bytes
    close_timeout: float = _DEFAULTS.mongo_close_seconds
    history: bool = _DEFAULTS.mongo_history
    item_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    item_schemas: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> StorageOptions:
        """Read the settings.

        Raises:
            ConfigError: A value is malformed; the text names the setting.
        """
        options = Options.from_settings(settings)
        concern = options.mongo_write_concern
        return cls(
            uri=options.mongo_uri,
            database=options.mongo_database,
            write_concern=int(concern) if concern.isdigit() else concern,
            batch_size=options.mongo_batch_size,
            flush_seconds=options.mongo_flush_seconds,
            buffer_items=options.mongo_buffer_items,
            buffer_bytes=options.mongo_buffer_bytes,
            close_timeout=options.mongo_close_seconds,
            history=options.mongo_history,
            item_keys={
                name: (keys,) if isinstance(keys, str) else tuple(keys) for name, keys in options.item_keys.items()
            },
            item_schemas=options.item_schemas,
        )
