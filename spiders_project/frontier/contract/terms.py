"""What a crawl allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one host allows; ``delay_ms`` between two starts, ``concurrency`` downloads at once (0: no limit)."""

    delay_ms: float = 0
    jitter: float = 0
    concurrency: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a worker's settings say of the crawl; sent with every batch, so that no worker's word is stale.

    Attributes:
        limits: For every host that is not in ``host_limits``.
        host_limits: By host, from ``DOWNLOAD_SLOTS``.
        order: ``fifo`` or ``lifo`` inside one host at equal priority.
        max_idle_ms: How long the crawl must have been empty to be finished.
        max_pages: The run ends after so many pages; what is left over waits for the next run. 0 for no limit.
        seeds_key: Where seeds are read.
        seeds_kind: ``list``, ``set`` or ``zset``.
        expire_ms: A fingerprint is known for at least so long (and at most twice as long), then the URL may be crawled
            again; 0: for ever.
    """

    limits: HostLimits = HostLimits()
    host_limits: Mapping[str, HostLimits] = field(default_factory=dict)
    order: str = "fifo"
    max_idle_ms: int = 5000
    max_pages: int = 0
    seeds_key: str = ""
    seeds_kind: str = "list"
    expire_ms: int = 0
