"""Every Redis key, built here and nowhere else (``docs/redis-keys.md`` has a row for each).

All keys of one crawl begin with its namespace, so that one script touches one namespace only and runs on
Redis Cluster when the namespace is a hash tag (``{site}``). Keys of the fleet belong to no crawl: a purge leaves them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spiders_project.errors import ConfigError

#: What a namespace may look like; braces mark the hash tag of Redis Cluster, of which a key has one.
NAMESPACE = r"[A-Za-z0-9_.-]{0,100}(\{[A-Za-z0-9_.-]{1,100}\}[A-Za-z0-9_.-]{0,100})?"
NAMESPACE_EXPECTED = "letters, digits and any of _.-, and at most one part of it in braces, as {site}"
#: Hash job id → why: jobs that are to end and hear no signal, because their node has forgotten them or is cut off.
FLEET_ENDING = "fleet:ending"


@dataclass(frozen=True)
class Keys:
    """The keys of the crawl in ``namespace``; ``start_urls`` may be named by scrapy-redis's own settings."""

    namespace: str
    start_urls_key: str = ""

    def __post_init__(self) -> None:
        """Refuse a namespace by which one crawl's keys could be taken for another's.

        Raises:
            ConfigError: It is empty, or has other characters.
        """
        if not self.namespace or not re.fullmatch(NAMESPACE, self.namespace):
            raise ConfigError(
                f"{self.namespace!r} cannot be the namespace of a crawl: it should be {NAMESPACE_EXPECTED}. "
                "Rename the spider, or set FRONTIER_NAMESPACE"
            )

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
    def waiting(self) -> str:
        """Sorted set host → time in ms from which it may be visited again."""
        return f"{self.namespace}:waiting"

    @property
    def delays(self) -> str:
        """Hash host → ms that the host itself asks for between two starts (robots.txt, AutoThrottle)."""
        return f"{self.namespace}:delays"

    @property
    def active(self) -> str:
        """Hash host → downloads under way."""
        return f"{self.namespace}:active"

    @property
    def delayed(self) -> str:
        """Sorted set id → due time in ms: retries, crawl-later."""
        return f"{self.namespace}:delayed"

    @property
    def places(self) -> str:
        """Hash id → minus the priority, host: where a delayed request joins when it is due."""
        return f"{self.namespace}:delayed:places"

    @property
    def hungry(self) -> str:
        """Sorted set worker → time in ms when it last got less than it wanted."""
        return f"{self.namespace}:hungry"

    @property
    def deliveries(self) -> str:
        """Hash id → how many workers died with the request."""
        return f"{self.namespace}:deliveries"

    @property
    def refused(self) -> str:
        """Hash id → msgpack of the versions that could not read the request."""
        return f"{self.namespace}:refused"

    @property
    def workers(self) -> str:
        """Sorted set worker → time of its last heartbeat in ms, by Redis's clock."""
        return f"{self.namespace}:workers"

    @property
    def reports(self) -> str:
        """Hash worker → JSON of what its last heartbeat said (node, job, version, counts)."""
        return f"{self.namespace}:reports"

    @property
    def replies(self) -> str:
        """Hash worker → the last batch's number and answer, for a batch that is sent again."""
        return f"{self.namespace}:replies"

    @property
    def local(self) -> str:
        """Hash worker → requests that wait inside it because they cannot be written to Redis."""
        return f"{self.namespace}:local"

    @property
    def state(self) -> str:
        """Hash of the namespace's counters: sequence, turn, leased, ended, idle_since."""
        return f"{self.namespace}:state"

    @property
    def run(self) -> str:
        """Hash of the newest run: id, state, times, reason, counts, limits."""
        return f"{self.namespace}:run"

    @property
    def ended_runs(self) -> str:
        """Stream of the runs that have ended (the last 1,000 or so); group ``hooks`` holds those to be told of."""
        return f"{self.namespace}:ended_runs"

    @property
    def dead(self) -> str:
        """Hash id → msgpack (letter, payload, time in ms): given up, kept with its reason."""
        return f"{self.namespace}:dead"

    @property
    def seen(self) -> str:
        """Hash of the seen set's shape: level, split, count; with expiry also generation, since, old_*, drop_*."""
        return f"{self.namespace}:seen"

    @property
    def fixed(self) -> tuple[str, ...]:
        """Every key of the crawl that has one name."""
        return (
            *(self.start_urls, self.rejected, self.requests, self.ready, self.waiting, self.delays, self.active),
            *(self.delayed, self.places, self.hungry, self.deliveries, self.refused, self.workers, self.reports),
            *(self.replies, self.local, self.state, self.run, self.ended_runs, self.dead, self.seen),
        )

    @property
    def families(self) -> tuple[str, ...]:
        """How the names begin of those keys of which a crawl has many."""
        return self.host(""), self.leases(""), f"{self.seen}:"

    def seen_bucket(self, bucket: int, generation: int = 0) -> str:
        """Set of 64-bit fingerprints, intset-encoded: one bucket of the seen set; generations come with expiry."""
        return f"{self.namespace}:seen:{generation}:{bucket}" if generation else f"{self.namespace}:seen:{bucket}"

    def host(self, host: str) -> str:
        """Sorted set id → minus the priority: the queue of one host."""
        return f"{self.namespace}:host:{host}"

    def leases(self, worker: str) -> str:
        """Hash id → place in the queue: what ``worker`` has claimed and not acked."""
        return f"{self.namespace}:leases:{worker}"


@dataclass(frozen=True)
class FleetKeys:
    """The keys that all crawls share; each script touches one of them only."""

    @property
    def jobs(self) -> str:
        """Sorted set job id → time of its start in ms: the index of the records."""
        return "fleet:jobs"

    @property
    def running(self) -> str:
        """Sorted set job id → time of its start in ms: those that have not told their end."""
        return "fleet:jobs:running"

    def job(self, job: str) -> str:
        """Hash: the record of one job."""
        return f"fleet:job:{job}"
