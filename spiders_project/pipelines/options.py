"""What the settings say about storage: every name and every default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spiders_project.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

DEFAULT_URI = "mongodb://127.0.0.1:27017"
DEFAULT_DATABASE = "spiders_project"
DEFAULT_WRITE_CONCERN = "majority"
#: Documents a bulk write. Beyond a few hundred the calls to MongoDB no longer show in a profile.
DEFAULT_BATCH_SIZE = 500
#: Seconds that an item waits for company at most. The ack of its request waits as long.
DEFAULT_FLUSH_SECONDS = 0.5
#: What may wait for MongoDB before the crawl slows down; twenty batches, and what a small node can spare.
DEFAULT_BUFFER_ITEMS = 10_000
DEFAULT_BUFFER_BYTES = 64 * 1024 * 1024
#: Seconds that a closing worker waits for a MongoDB that is away. What was not stored then is crawled again.
DEFAULT_CLOSE_TIMEOUT = 30.0


@dataclass(frozen=True)
class StorageOptions:
    """How items are stored; ``docs/settings.md`` has a row for each ``MONGO_*`` and ``ITEM_*`` setting."""

    uri: str = DEFAULT_URI
    database: str = DEFAULT_DATABASE
    write_concern: str | int = DEFAULT_WRITE_CONCERN
    batch_size: int = DEFAULT_BATCH_SIZE
    flush_seconds: float = DEFAULT_FLUSH_SECONDS
    buffer_items: int = DEFAULT_BUFFER_ITEMS
    buffer_bytes: int = DEFAULT_BUFFER_BYTES
    close_timeout: float = DEFAULT_CLOSE_TIMEOUT
    history: bool = False
    item_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    item_schemas: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> StorageOptions:
        """Read the settings.

        Raises:
            ConfigError: A value is malformed; the text names the setting.
        """
        return cls(
            uri=settings.get("MONGO_URI") or DEFAULT_URI,
            database=settings.get("MONGO_DATABASE") or DEFAULT_DATABASE,
            write_concern=_write_concern(settings.get("MONGO_WRITE_CONCERN", DEFAULT_WRITE_CONCERN)),
            batch_size=_positive(settings, "MONGO_BATCH_SIZE", DEFAULT_BATCH_SIZE, int),
            flush_seconds=_positive(settings, "MONGO_FLUSH_SECONDS", DEFAULT_FLUSH_SECONDS, float),
            buffer_items=_positive(settings, "MONGO_BUFFER_ITEMS", DEFAULT_BUFFER_ITEMS, int),
            buffer_bytes=_positive(settings, "MONGO_BUFFER_BYTES", DEFAULT_BUFFER_BYTES, int),
            close_timeout=_positive(settings, "MONGO_CLOSE_TIMEOUT", DEFAULT_CLOSE_TIMEOUT, float),
            history=settings.getbool("MONGO_HISTORY"),
            item_keys={
                name: (keys,) if isinstance(keys, str) else tuple(keys)
                for name, keys in _mapping(settings, "ITEM_KEYS").items()
            },
            item_schemas=_mapping(settings, "ITEM_SCHEMAS"),
        )


def _write_concern(value: Any) -> str | int:
    text = str(value).strip()
    if text == "0":
        raise ConfigError(
            "MONGO_WRITE_CONCERN = 0 lets MongoDB lose items without a word, and a request would leave the"
            " frontier before its items are stored. Use 'majority', a number from 1 on, or a tag."
        )
    return int(text) if text.isdigit() else text


def _positive(settings: BaseSettings, name: str, default: Any, kind: type[Any]) -> Any:
    value = settings.get(name)
    if value is None:
        return default
    try:
        number = kind(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} = {value!r} is no number") from None
    if number <= 0:
        raise ConfigError(f"{name} = {value!r}: use a number above 0")
    return number


def _mapping(settings: BaseSettings, name: str) -> dict[str, Any]:
    try:
        return dict(settings.getdict(name))
    except (TypeError, ValueError):
        raise ConfigError(f"{name} is neither a dict nor a JSON object") from None
