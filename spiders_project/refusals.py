"""What is refused, and what to use instead; docs/settings.md has a row for each setting, and ``checks`` the code."""

from __future__ import annotations

from typing import Any

ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

#: Queue classes whose order ours has; the others of scrapy-redis have a setting of ours instead.
_PRIORITY_QUEUES = {"scrapy_redis.queue.PriorityQueue", "scrapy_redis.queue.SpiderPriorityQueue"}


def _is(wanted: bool) -> Any:
    names = {"True", "true", "1"} if wanted else {"False", "false", "0"}
    return lambda value: str(value) in names


def _is_set(value: object) -> bool:
    return value != ""


def _is_not_zero(value: Any) -> bool:
    try:
        return float(value) != 0
    except (TypeError, ValueError):
        return True


def _is_zero(value: Any) -> bool:
    return not _is_not_zero(value)


_ONE_PREFIX = "the keys of a crawl share a prefix; set FRONTIER_NAMESPACE"
_ONE_QUEUE = (
    "requests wait in Redis, a queue for each host, by priority; leave it out, and for the order among equals set "
    "FRONTIER_ORDER"
)

#: On the frontier. Setting → (is this value wrong?, what to do instead)
NOT_ON_THE_FRONTIER: dict[str, tuple[Any, str]] = {
    "SCHEDULER_PERSIST": (
        _is(False),
        "a worker that closes deletes nothing that others need; to empty a crawl use `scrapy frontier purge`",
    ),
    "SCHEDULER_FLUSH_ON_START": (
        _is(True),
        "a worker that starts deletes nothing that others need; to empty a crawl use `scrapy frontier purge`",
    ),
    "SCHEDULER_SERIALIZER": (_is_set, "requests are packed with msgpack and nothing is unpickled; leave it out"),
    "SCHEDULER_QUEUE_CLASS": (
        lambda value: value not in _PRIORITY_QUEUES,
        "each host has a queue, by priority; for the order among equals set FRONTIER_ORDER",
    ),
    "SCHEDULER_PRIORITY_QUEUE": (_is_set, _ONE_QUEUE),
    "SCHEDULER_MEMORY_QUEUE": (_is_set, _ONE_QUEUE),
    "SCHEDULER_DISK_QUEUE": (_is_set, _ONE_QUEUE),
    "SCHEDULER_START_MEMORY_QUEUE": (_is_set, _ONE_QUEUE),
    "SCHEDULER_START_DISK_QUEUE": (_is_set, _ONE_QUEUE),
    "SCHEDULER_QUEUE_KEY": (_is_set, _ONE_PREFIX),
    "SCHEDULER_DUPEFILTER_KEY": (_is_set, _ONE_PREFIX),
    "SCHEDULER_DUPEFILTER_CLASS": (_is_set, "its name is DUPEFILTER_CLASS, and only the frontier's own will do"),
    "SCHEDULER_IDLE_BEFORE_CLOSE": (_is_not_zero, "it would block the worker; set MAX_IDLE_TIME_BEFORE_CLOSE (s)"),
    "CONCURRENT_REQUESTS_PER_IP": (
        _is_not_zero,
        "hosts are told apart by name, for the whole cluster; set CONCURRENT_REQUESTS_PER_DOMAIN",
    ),
    "STATS_CLASS": (
        lambda value: str(value).startswith("scrapy_redis."),
        "it makes a blocking call for each count; leave it out, counts reach Redis with the heartbeat",
    ),
    "TWISTED_REACTOR": (
        lambda value: value != ASYNCIO_REACTOR,
        f"Redis and MongoDB are driven by asyncio; use {ASYNCIO_REACTOR}",
    ),
    "JOBDIR": (_is_set, "requests live in Redis, not in a directory, and a crawl resumes by itself; leave it out"),
}

#: With another scheduler. The same.
ONLY_ON_THE_FRONTIER: dict[str, tuple[Any, str]] = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": (
        _is_zero,
        "Scrapy's own downloader starts nothing with 0; set the number that a host may have at once",
    ),
}

#: On the frontier. Setting → (class that it has to be, or derive from; why)
DERIVED: dict[str, tuple[str, str]] = {
    "DUPEFILTER_CLASS": (
        "spiders_project.frontier.dupefilter.DupeFilter",
        "only the frontier's own knows the seen set that all workers share",
    ),
    "DOWNLOADER": (
        "spiders_project.downloader.gated.GatedDownloader",
        "hosts' limits would hold for one process only",
    ),
    "ITEM_PROCESSOR": (
        "spiders_project.items.processor.DeliveringItemProcessor",
        "requests would be acked before their items are stored",
    ),
}

#: On the frontier. Setting → (class that has to be among these components, its order, why)
COMPONENTS: dict[str, tuple[str, int, str]] = {
    "SPIDER_MIDDLEWARES": (
        "spiders_project.frontier.origins.OriginMiddleware",
        50,
        "pages would be done before their items are stored",
    ),
    "DOWNLOADER_MIDDLEWARES": (
        "spiders_project.downloader.outcome.OutcomeMiddleware",
        1,
        "requests whose retries all failed would be lost without a dead letter",
    ),
}
