"""Every option, declared once: its type, default, unit, bounds and meaning; all of them are checked at start.

``Options`` holds this project's own options: adding one is one row here and one in ``docs/settings.md``.
``_Stock`` holds the settings of Scrapy and scrapy-redis whose values are checked too, because a typo in them
would otherwise surface in the middle of a crawl. This module knows no Scrapy: settings are any mapping.
"""

from __future__ import annotations

import json
import re
import socket
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from spiders_project.errors import ConfigError
from spiders_project.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"

#: A name that begins so is ours; an unknown one is a typo.
PREFIXES = ("FRONTIER_", "JOB_RECORDS_", "MONGO_", "RETRY_BACKOFF_", "SEEDS_", "ITEM_KEYS", "ITEM_SCHEMAS")


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _load(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"it should be a JSON object ({error})") from None


def _whole(value: Any) -> Any:
    # Scrapy reads whole numbers with int(), which is stricter about strings than pydantic.
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("it should be a whole number") from None


def _flag(value: Any) -> Any:
    # What Scrapy's getbool() takes, and nothing else.
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


def _some(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("it should name at least one")
    return value


Words = Annotated[list[str], BeforeValidator(_split)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_load)]
Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[Whole, Field(ge=0)]
Positive = Annotated[Whole, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Contact = Annotated[str, _form(r"(https?://\S+|[^@\s]+@[^@\s]+)?", "a web address or a mail address")]
Namespace = Annotated[str, _form(r"[A-Za-z0-9_.{}-]{0,100}", "letters, digits and any of _.-{}")]
MongoUri = Annotated[str, _form(r"mongodb(\+srv)?://\S+", "a URL such as mongodb://127.0.0.1:27017")]
RedisUrl = Annotated[
    str, _form(r"(rediss?|unix)://\S+", f"a URL such as {DEFAULT_REDIS_URL}"), AfterValidator(_reachable)
]
SeedsKey = Annotated[str, AfterValidator(_seeds_key)]
ItemKeys = Annotated[JsonObject, AfterValidator(_key_fields)]
Statuses = Annotated[list[Annotated[int, BeforeValidator(_whole)]], BeforeValidator(_split)]
Database = Annotated[str, _form(r'[^/\\. "$*<>:|?\x00]{1,63}', "a database name of at most 63 characters")]
WriteConcern = Annotated[str, _form(r"(?!0$)[A-Za-z0-9_-]+", "a number of members from 1 on, 'majority' or a tag")]
ImportPath = Annotated[str, _form(r"(\w+(\.\w+)+)?", "an import path such as package.module.function")]
Flag = Annotated[bool, BeforeValidator(_flag)]


Model = TypeVar("Model", bound=BaseModel)

# MONGO_WRITE_CONCERN is a number or a word.
_MODEL = ConfigDict(extra="forbid", hide_input_in_errors=True, alias_generator=str.upper, coerce_numbers_to_str=True)


def option(default: Any, meaning: str, **bounds: Any) -> Any:
    """One row: the default, and one line of meaning with its unit."""
    factory = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=meaning, **factory, **bounds)


class Options(BaseModel):
    """This project's options; the setting of ``frontier_lease_seconds`` is ``FRONTIER_LEASE_SECONDS``."""

    model_config = ConfigDict(frozen=True, **_MODEL)

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
    frontier_allowed_schemes: Annotated[Words, AfterValidator(_some)] = option(
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
        return _validate(cls, settings)


class _Stock(BaseModel):
    """Settings of Scrapy and scrapy-redis whose values are checked; they keep their defaults and meaning."""

    model_config = _MODEL

    concurrent_items: Positive | None = None
    concurrent_requests: Count | None = None  # 0: no limit, as in Scrapy
    concurrent_requests_per_domain: Positive | None = None
    closespider_errorcount: Count | None = None
    closespider_itemcount: Count | None = None
    closespider_pagecount: Count | None = None
    closespider_timeout: Seconds | None = None
    depth_limit: Count | None = None
    depth_priority: Whole | None = None
    download_delay: Seconds | None = None
    download_delay_jitter: Annotated[float, Field(ge=0, le=1)] | None = None
    download_maxsize: Count | None = None
    download_timeout: Annotated[Seconds, Field(gt=0)] | None = None
    download_warnsize: Count | None = None
    dupefilter_debug: Flag | None = None
    log_level: Literal["CRITICAL", "ERROR", "WARNING", "WARN", "INFO", "DEBUG", "NOTSET"] | Count | None = None
    max_idle_time_before_close: Count | None = None
    redirect_max_times: Count | None = None
    redis_db: Count | None = None
    redis_host: str | None = None
    redis_params: JsonObject | None = None
    redis_port: Annotated[Whole, Field(ge=1, le=65535)] | None = None
    redis_sentinel_params: JsonObject | None = None
    redis_sentinel_service: str | None = None
    redis_sentinels: Words | None = None
    redis_start_urls_key: SeedsKey | None = None
    redis_start_urls_as_set: Flag | None = None
    redis_start_urls_as_zset: Flag | None = None
    redis_url: RedisUrl | None = None
    retry_http_codes: Statuses | None = None
    retry_priority_adjust: Whole | None = None
    retry_times: Count | None = None
    robotstxt_obey: Flag | None = None
    scheduler_flush_on_start: Flag | None = None
    scheduler_persist: Flag | None = None
    urllength_limit: Count | None = None


def check_stock(settings: Mapping[str, Any]) -> None:
    """Check the values of Scrapy's and scrapy-redis's settings.

    Raises:
        ConfigError: A value is malformed or out of bounds; names the setting.
    """
    _validate(_Stock, settings)


def redis_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for ``redis.Redis.from_url``, or without ``url`` for ``redis.Redis``.

    REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB, REDIS_ENCODING and REDIS_PARAMS mean what they mean to
    scrapy-redis, where a URL goes before the rest. Only our default, which nobody chose, gives way to them.
    """
    parameters: dict[str, Any] = dict(_load(settings.get("REDIS_PARAMS")) or {})
    for name, kind in {"host": str, "port": int, "db": int, "encoding": str}.items():
        value = settings.get(f"REDIS_{name.upper()}")
        if value not in (None, ""):
            parameters[name] = kind(str(value))
    url = settings.get("REDIS_URL") or DEFAULT_REDIS_URL
    if url != DEFAULT_REDIS_URL or not {"host", "port", "db", "unix_socket_path"} & parameters.keys():
        parameters["url"] = str(url)
    return parameters


def json_object(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The setting ``name``, a dict or a JSON object; empty where it is not set."""
    return dict(_load(settings.get(name)) or {})


def sentinel_addresses(settings: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Where the sentinels are: REDIS_SENTINELS, ``host:port`` each, separated by commas.

    Raises:
        ConfigError: One is no address.
    """
    addresses = []
    for address in _split(settings.get("REDIS_SENTINELS") or []):
        host, _, port = str(address).rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"REDIS_SENTINELS has {address!r}: it should be host:port, as 10.0.0.5:26379")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def start_urls_key(settings: Mapping[str, Any], namespace: str) -> str:
    """The key of the seeds: REDIS_START_URLS_KEY, whose ``%(name)s`` is the crawl's namespace."""
    return str(settings.get("REDIS_START_URLS_KEY") or "%(name)s:start_urls") % {"name": namespace}


def start_urls_kind(settings: Mapping[str, Any]) -> Literal["list", "set", "zset"]:
    """The type of that key, by scrapy-redis's settings; a set goes before a sorted set, as there."""
    if _flag(settings.get("REDIS_START_URLS_AS_SET") or False):
        return "set"
    return "zset" if _flag(settings.get("REDIS_START_URLS_AS_ZSET") or False) else "list"


_SECRETS: dict[str, Callable[[Any], str]] = {
    "MONGO_URI": lambda value: mask(str(value)),
    "REDIS_URL": lambda value: mask(str(value)),
    "REDIS_PARAMS": lambda _: "malformed",
    "REDIS_SENTINEL_PARAMS": lambda _: "malformed",
}


def _validate(model: type[Model], settings: Mapping[str, Any]) -> Model:
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
