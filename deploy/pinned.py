"""Versions that a crawl is to run though no job runs from them at the moment: the next worker would find nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from deploy.environment import asking_redis

if TYPE_CHECKING:
    import redis

#: Hash crawl → JSON of what is wanted of it; written by ``start`` and the supervisor.
KEY = "fleet:crawls"


def pinned_versions(client: redis.Redis | None) -> dict[str, str]:
    """Why each such version stays; nothing is known while Redis is away."""
    if client is None:
        return {}
    with asking_redis():
        records = cast("dict[bytes, bytes]", client.hgetall(KEY))
    found = {}
    for record in records.values():
        with suppress(ValueError, KeyError, TypeError):  # not a crawl: no reason to keep anything
            wanted = json.loads(record)
            if wanted["version"] and wanted["state"] != "idle":
                found[str(wanted["version"])] = f"crawl {wanted['name']} is to run it"
    return found
