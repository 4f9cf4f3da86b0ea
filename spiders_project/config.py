"""This project's options, each declared once: type, default, unit, bounds and meaning; all are checked at start.

Adding one is one row here and one in ``docs/settings.md``. This module knows no Scrapy: settings are any mapping.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from spiders_project.settingtypes import (
    MODEL,
    Contact,
    Count,
    Database,
    Flag,
    ImportPath,
    ItemKeys,
    JsonObject,
    MongoUri,
    Namespace,
    Positive,
    Seconds,
    Whole,
    Words,
    WriteConcern,
    some,
    validated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A name that begins so is ours; an unknown one is a typo.
PREFIXES = ("FRONTIER_", "JOB_RECORDS_", "MONGO_", "RETRY_BACKOFF_", "SEEDS_", "ITEM_KEYS", "ITEM_SCHEMAS")


def option(default: Any, meaning: str, **bounds: Any) -> Any:
    """One row: the default, and one line of meaning with its unit."""
    factory = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=meaning, **factory, **bounds)


class Options(BaseModel):
    """This project's options; the setting of ``frontier_lease_seconds`` is ``FRONTIER_LEASE_SECONDS``."""

    model_config = ConfigDict(frozen=True, **MODEL)

    # Who we are
    contact: Contact = option(
        "", "Web page or mail address that `USER_AGENT` names, so that a site's operator can reach you.",
    )  # fmt: skip
    node_name: str = option(socket.gethostname, "Name of this node in reports and logs.", min_length=1)

    # The frontier
    frontier_namespace: Namespace = option("", "Prefix of all Redis keys of a crawl; empty: the spider's name.")
    frontier_order: Literal["fifo", "lifo"] = option(
        "fifo", "Order of requests with equal priority on one host: `fifo` (broad) or `lifo` (deep)."
    )
    frontier_lease_seconds: Seconds = option(
        15.0, "A worker whose heartbeat is older than this (s) is dead, and its requests go back.", gt=3
    )
    frontier_max_deliveries: Whole = option(
        5, "A request that killed its worker this often becomes a dead letter.", ge=1
    )
    frontier_host_share: float = option(
        0.25, "The share of a worker's download slots that one host may take while others wait.", gt=0, le=1
    )
    frontier_prefetch: Count = option(0, "Requests that a worker holds ready; 0: as many as `CONCURRENT_REQUESTS`.")
    frontier_batch_size: Whole = option(64, "Requests put, claimed or acked in one call.", ge=1, le=10_000)
    frontier_flush_seconds: Seconds = option(0.01, "The longest that a put or an ack waits for company (s).", le=5)
    frontier_max_request_bytes: Whole = option(
        1024 * 1024, "A request that is larger when packed (bytes) is refused.", ge=1024
    )
    frontier_local_seen: Count = option(
        100_000, "Fingerprints known as seen that a worker remembers, to spare Redis the question; 0: none."
    )
    frontier_allowed_schemes: Annotated[Words, AfterValidator(some)] = option(
        ["http", "https"], "URL schemes that a seed may have (comma-separated)."
    )
    frontier_stall_seconds: Seconds = option(
        60.0, "Work without progress for so long (s) is reported with its likely cause; 0: never."
    )
    frontier_run_ended_hook: ImportPath = option(
        "", "Import path of a callable, async or not, that one worker calls at the end of a run."
    )
    dupefilter_expire_seconds: Count = option(
        0, "A URL may be crawled again when it was seen longer ago than this (s); 0: never."
    )

    # The records of jobs
    job_records_seconds: Positive = option(30 * 86_400, "How long the record of a job is kept after it ended (s).")
    job_records_max: Count = option(10_000, "Records of jobs that are kept, the oldest go first; 0: none are written.")

    # Retries
    retry_backoff_seconds: Seconds = option(
        1.0, "The first retry waits about this long (s); each further one twice as long."
    )
    retry_backoff_max_seconds: Seconds = option(300.0, "No retry waits longer than this (s).")

    # Items
    item_keys: ItemKeys = option(
        dict, "Key fields by item class or collection, for items that declare none (JSON object)."
    )
    item_schemas: JsonObject = option(dict, "Schema by item class or collection, for plain dicts (JSON object).")
    mongo_uri: MongoUri = option("mongodb://127.0.0.1:27017", "Where MongoDB is; never logged.")
    mongo_database: Database = option("spiders_project", "Database of the items.")
    mongo_batch_size: Whole = option(500, "Documents written in one bulk.", ge=1, le=100_000)
    mongo_flush_seconds: Seconds = option(0.5, "The longest that an item waits for a full bulk (s).", gt=0, le=60)
    mongo_write_concern: WriteConcern = option(
        "majority", "The members that must have a write before its request is acked: a number, `majority` or a tag.",
    )  # fmt: skip
    mongo_history: Flag = option(False, "Whether the changes of each document are kept.")
    mongo_buffer_items: Positive = option(10_000, "Items that may wait for MongoDB before the crawl slows down.")
    mongo_buffer_bytes: Positive = option(64 * 1024 * 1024, "The same in bytes, once encoded.")
    mongo_close_seconds: Seconds = option(
        30.0, "How long a closing worker waits for a MongoDB that is away (s); what is left is crawled again."
    )

    @classmethod
    def names(cls) -> list[str]:
        """The names of the settings."""
        return [name.upper() for name in cls.model_fields]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Setting → default."""
        return cls().model_dump(by_alias=True)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Options:
        """The options in ``settings``, typed; what is absent or None has its default.

        Raises:
            ConfigError: A value is malformed or out of bounds; names the setting.
        """
        return validated(cls, settings)
