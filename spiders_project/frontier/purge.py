"""Forget a crawl: the one place that deletes what workers share, and only when asked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spiders_project.errors import FrontierError
from spiders_project.frontier.connection import translated
from spiders_project.frontier.inspect import crawl_status

if TYPE_CHECKING:
    import redis


def purge_crawl(client: redis.Redis, namespace: str, start_urls_key: str = "") -> int:
    """Delete every key of the crawl in ``namespace``: queue, seen set, dead letters, seeds and records.

    Returns:
        How many keys were deleted.

    Raises:
        FrontierError: A worker of the crawl is alive (stop it first), or Redis refuses.
    """
    status = crawl_status(client, namespace, start_urls_key)
    alive = [worker.id for worker in status.workers if worker.alive]
    if alive:
        raise FrontierError(
            f"{len(alive)} worker(s) of {namespace!r} are alive ({', '.join(alive)}): stop them before a purge"
        )
    deleted = 0
    # A namespace may hold the characters of a pattern.
    pattern = "".join(f"\\{letter}" if letter in "*?[]\\^" else letter for letter in namespace)
    with translated():
        batch: list[bytes] = []
        for key in client.scan_iter(match=f"{pattern}:*", count=1000):
            batch.append(key)
            if len(batch) >= 500:  # noqa: PLR2004 - one UNLINK stays short
                deleted += int(client.unlink(*batch))
                batch.clear()
        if start_urls_key:
            batch.append(start_urls_key.encode())
        if batch:
            deleted += int(client.unlink(*batch))
    return deleted
