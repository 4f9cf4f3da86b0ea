"""Forget a crawl: the one place that deletes what workers share, and only when asked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spiders_project.errors import FrontierError
from spiders_project.frontier.connection import translated
from spiders_project.frontier.inspect import crawl_status
from spiders_project.keys import Keys

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
    keys = Keys(namespace, start_urls_key)
    with translated():
        batch: list[bytes | str] = list(keys.fixed)
        # By their kinds, and not "<namespace>:*": another crawl's namespace may begin with this one's.
        for key in (key for kind in keys.families for key in client.scan_iter(match=_escaped(kind) + "*", count=1000)):
            batch.append(key)
            if len(batch) >= 500:  # noqa: PLR2004 - one UNLINK stays short
                deleted += int(client.unlink(*batch))
                batch.clear()
        if batch:
            deleted += int(client.unlink(*batch))
    return deleted


def _escaped(text: str) -> str:
    """``text`` as a pattern that matches itself."""
    return "".join(f"\\{letter}" if letter in "*?[]\\^" else letter for letter in text)
