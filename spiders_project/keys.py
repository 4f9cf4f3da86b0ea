"""Every Redis key, built here and nowhere else (``docs/redis-keys.md`` has a row for each).

All keys of one crawl begin with its namespace, so that one script touches one namespace only and runs on Redis
Cluster when the namespace is a hash tag (``{site}``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    """The keys of the crawl in ``namespace``; ``start_urls`` may be named by scrapy-redis's own settings."""

    namespace: str
    start_urls_key: str = ""

    @property
    def start_urls(self) -> str:
        """Seeds: list (or set, or sorted set) of entries, pushed by people."""
        return self.start_urls_key or f"{self.namespace}:start_urls"

    @property
    def rejected(self) -> str:
        """List of JSON objects ``{"entry", "reason", "time"}``: what was no seed."""
        return f"{self.namespace}:start_urls:rejected"

    @property
    def requests(self) -> str:
        """Hash id → payload: every request not yet acked; its length is the crawl's open work."""
        return f"{self.namespace}:requests"

    @property
    def ready(self) -> str:
        """Sorted set of hosts that may be visited now, by best priority, then turn."""
        return f"{self.namespace}:ready"

    @property
    def workers(self) -> str:
        """Sorted set worker → time of its last heartbeat in ms, by Redis's clock."""
        return f"{self.namespace}:workers"

    @property
    def reports(self) -> str:
        """Hash worker → JSON of what its last heartbeat said (node, job, version, counts)."""
        return f"{self.namespace}:reports"

    @property
    def run(self) -> str:
        """Hash of the current run: id, state, times, counts, limits."""
        return f"{self.namespace}:run"

    @property
    def dead(self) -> str:
        """Hash id → dead letter: given up, kept with its reason."""
        return f"{self.namespace}:dead"

    def host(self, host: str) -> str:
        """Sorted set id → priority, then sequence: the queue of one host."""
        return f"{self.namespace}:host:{host}"

    def leases(self, worker: str) -> str:
        """Hash id → place in the queue: what ``worker`` has claimed and not acked."""
        return f"{self.namespace}:leases:{worker}"
