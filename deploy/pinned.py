"""Versions that a crawl is to run though no job runs from them at the moment: the next worker would find nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from deploy import keys
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    import redis


def pinned_versions(client: redis.Redis | None) -> dict[str, str]:
    """Why each such version stays; nothing is known while Redis is away."""
    if client is None:
        return {}
    with spoken():
        records = cast("dict[bytes, bytes]", client.hgetall(keys.CRAWLS))
    found = {}
    for record in records.values():
        with suppress(ValueError, KeyError, TypeError):  # not a crawl: no reason to keep anything
            wanted = json.loads(record)
            if wanted["version"] and wanted["state"] != "idle":
                found[str(wanted["version"])] = f"crawl {wanted['name']} is to run it"
    return found
