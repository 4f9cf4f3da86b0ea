"""Push many seeds: each checked alone, sent in batches, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

from spiders_project.errors import SeedError
from spiders_project.seeds.schema import MAX_ENTRY_BYTES, Seed, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

    import redis

Entry: TypeAlias = "str | bytes | Mapping[str, Any]"
Kind: TypeAlias = Literal["list", "set", "zset"]

#: Refusals beyond this number are counted, not kept: a stream may be endless.
MAX_REFUSALS = 1000
_SHOWN = 200


@dataclass(frozen=True)
class Refusal:
    """An entry that is no seed: its first characters, the reason, and its place (1, 2, …) in the input."""

    entry: str
    reason: str
    line: int


@dataclass(frozen=True)
class PushReport:
    """What became of the entries; ``refused`` holds the first refusals, ``refused_count`` counts all."""

    pushed: int
    refused: tuple[Refusal, ...]
    refused_count: int


def push(
    client: redis.Redis,
    key: str,
    entries: Iterable[Entry],
    *,
    kind: Kind = "list",
    batch: int = 1000,
    allowed_schemes: Collection[str] = ("http", "https"),
    on_progress: Callable[[int], None] | None = None,
) -> PushReport:
    """Check ``entries`` and push the good ones to ``key``.

    A list is appended to (RPUSH) and read from its head: the order of the entries is the order of the crawl.
    A sorted set gets the seed's priority as score. Blank entries and those that begin with ``#`` are skipped.

    Args:
        client: A client of the crawl's Redis.
        key: Usually ``<namespace>:start_urls``.
        entries: URLs, JSON objects as text, or mappings.
        kind: The type of ``key``, by REDIS_START_URLS_AS_SET and REDIS_START_URLS_AS_ZSET.
        batch: Entries for each command.
        allowed_schemes: FRONTIER_ALLOWED_SCHEMES.
        on_progress: Called after each batch with the number of seeds pushed so far.

    Raises:
        redis.RedisError: Redis failed; what ``on_progress`` heard of is pushed.
    """
    pushed = refused_count = 0
    refused: list[Refusal] = []
    waiting: list[tuple[bytes, Seed]] = []

    def flush() -> None:
        nonlocal pushed
        if waiting:
            _send(client, key, waiting, kind)
            pushed += len(waiting)
            waiting.clear()
            if on_progress:
                on_progress(pushed)

    for line, entry in enumerate(entries, 1):
        try:
            raw = _raw(entry)
            if not raw or raw.startswith(b"#"):
                continue
            waiting.append((raw, parse(raw, allowed_schemes=allowed_schemes)))
        except SeedError as error:
            refused_count += 1
            if len(refused) < MAX_REFUSALS:
                refused.append(Refusal(_shown(entry), str(error), line))
        if len(waiting) >= batch:
            flush()
    flush()
    return PushReport(pushed, tuple(refused), refused_count)


def read_entries(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of ``stream``; one that is longer than an entry may be is cut, and so refused later."""
    while line := stream.readline(MAX_ENTRY_BYTES + 2):
        yield line
        while len(line) > MAX_ENTRY_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_ENTRY_BYTES)
            if not line:
                return


def _raw(entry: Entry) -> bytes:
    try:
        if isinstance(entry, Mapping):
            entry = json.dumps(entry, ensure_ascii=False, allow_nan=False)
        raw = entry.encode() if isinstance(entry, str) else entry
    except UnicodeEncodeError:
        raise SeedError("the entry holds half of a surrogate pair, which is no character") from None
    except (TypeError, ValueError) as error:
        raise SeedError(f"the entry cannot be written as JSON: {error}") from None
    return raw.strip().removeprefix(b"\xef\xbb\xbf").strip()


def _send(client: redis.Redis, key: str, seeds: list[tuple[bytes, Seed]], kind: Kind) -> None:
    if kind == "list":
        client.rpush(key, *(raw for raw, _ in seeds))
    elif kind == "set":
        client.sadd(key, *(raw for raw, _ in seeds))
    else:
        client.zadd(key, {raw: seed.priority for raw, seed in seeds})


def _shown(entry: Entry) -> str:
    text = entry[: _SHOWN * 4].decode(errors="backslashreplace") if isinstance(entry, bytes) else str(entry)
    text = text.strip()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
