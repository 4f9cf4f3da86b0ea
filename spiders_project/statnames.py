"""Every stat that this project counts (``docs/stats.md`` has a row for each); named ``component/thing``."""

from __future__ import annotations

# The frontier, counted by the worker that saw it.
CLAIMED = "frontier/claimed"
ACKED = "frontier/acked"
DEAD = "frontier/dead"
RETURNED = "frontier/reaped"
DEAD_WORKERS = "frontier/dead_workers"
UNDECODABLE = "frontier/undecodable"
KEPT_LOCAL = "frontier/kept_local"
CALLS = "frontier/calls"
HOST_PAUSED = "frontier/host_paused"
DELAYED = "frontier/delayed"
TAINTED = "frontier/lost_track"
STALLED = "frontier/stalled"
RUNS_ENDED = "frontier/runs_ended"
PAGES = "frontier/pages"
WORKER = "frontier/worker"
REDIRECT_LOOPS = "redirect/max_reached"
SEEDS_QUEUED = "seeds/queued"
SEEDS_REJECTED = "seeds/rejected"

# Scrapy's and scrapy-redis's own names, so that people's dashboards go on.
ENQUEUED = "scheduler/enqueued"
ENQUEUED_REDIS = "scheduler/enqueued/redis"
DEQUEUED = "scheduler/dequeued"
DEQUEUED_REDIS = "scheduler/dequeued/redis"
FILTERED = "dupefilter/filtered"

# Storage. A rejected item is counted under its code: ``items/rejected/invalid-type``.
REJECTED = "items/rejected"
ITEM_ERRORS = "items/errors"
INSERTED = "mongo/inserted"
UPDATED = "mongo/updated"
UNCHANGED = "mongo/unchanged"
BATCHES = "mongo/batches"
CONFLICTS = "mongo/conflicts"
WAITS = "mongo/waits"
BUFFER_FULL = "mongo/buffer_full"
INDEX_ERRORS = "mongo/index_errors"
