"""Entries of ``start_urls`` that were no seeds: looked at, put back after a fix, or forgotten."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from spiders_project.frontier.connection import translated
from spiders_project.frontier.redis_frontier import pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spiders_project.frontier.crawl import Crawl

BATCH = 200


@dataclass(frozen=True)
class RejectedSeed:
    """One entry: its text, why it was set aside, when (unix seconds), and the list's element that says so."""

    entry: str
    reason: str
    at: float
    element: bytes


def rejected_seeds(crawl: Crawl, before: float | None = None, after: float | None = None) -> Iterator[RejectedSeed]:
    """The entries set aside before, and at or after, a unix time (s); the oldest first.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    with translated():
        elements: Any = crawl.client.lrange(crawl.keys.rejected, 0, -1)  # the readers keep it below 10,000
    for element in elements:
        said = json.loads(element)
        at = datetime.fromisoformat(said["time"]).timestamp()
        if (before is None or at < before) and (after is None or at >= after):
            yield RejectedSeed(said["entry"], said["reason"], at, element)


def retry_seeds(crawl: Crawl, found: Iterator[RejectedSeed]) -> int:
    """Put entries back into ``start_urls``, where they are read anew; returns how many."""
    count = 0
    while batch := list(islice(found, BATCH)):
        count += int(crawl.run("reseed", pack([(one.element, one.entry) for one in batch])))
    return count


def forget_seeds(crawl: Crawl, found: Iterator[RejectedSeed]) -> int:
    """Drop entries for good; returns how many."""
    count = 0
    while batch := list(islice(found, BATCH)):
        pipe: Any = crawl.client.pipeline(transaction=False)
        for one in batch:
            pipe.lrem(crawl.keys.rejected, 1, one.element)
        with translated():
            count += sum(pipe.execute())
    return count
