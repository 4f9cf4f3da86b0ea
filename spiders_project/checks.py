"""What is refused at start, wherever it was set: typos, malformed values, settings that cannot work here."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spiders_project.config import PREFIXES, Options, check_stock, sentinel_addresses
from spiders_project.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FRONTIER_SCHEDULER = "spiders_project.frontier.scheduler.Scheduler"
ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

#: Queue classes whose order ours has; the others of scrapy-redis have a setting of ours instead.
_PRIORITY_QUEUES = {"scrapy_redis.queue.PriorityQueue", "scrapy_redis.queue.SpiderPriorityQueue"}
#: Other programs read variables with these prefixes, so only a near miss of a name of ours is a typo there.
_SHARED_IN_ENVIRONMENT = ("MONGO_",)


def check(settings: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Options:
    """Check every setting and return this project's options.

    Args:
        settings: All settings as merged from settings.py, the spider, the command line and the environment.
        environ: The environment; None for this process's.

    Raises:
        ConfigError: Names the first setting that is wrong, and says what to do.
    """
    for problem in settings.get("ENVIRONMENT_PROBLEMS") or ():
        raise ConfigError(problem)
    _refuse_unknown(settings)
    _refuse_unknown_variables(os.environ if environ is None else environ)
    options = Options.from_settings(settings)
    _refuse_missing_hook(options.frontier_run_ended_hook)
    check_stock(settings)
    sentinel_addresses(settings)
    if uses_frontier(settings):
        _refuse_what_cannot_work(settings)
    return options


def uses_frontier(settings: Mapping[str, Any]) -> bool:
    """Whether the crawl runs on the shared frontier, and not on a scheduler of Scrapy's."""
    scheduler = settings.get("SCHEDULER")
    path = scheduler if isinstance(scheduler, str) else getattr(scheduler, "__module__", "")
    return str(path).startswith("spiders_project.")


def _refuse_unknown(names: Iterable[str]) -> None:
    known = Options.names()
    for name in names:
        if name.startswith(PREFIXES) and name not in known:
            close = get_close_matches(name, known, 1, cutoff=0.75)
            hint = f"did you mean {close[0]}?" if close else "docs/settings.md lists the names"
            raise ConfigError(f"{name} is no setting; {hint}")


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    known = Options.names()
    ours = (name for name in environ if name.startswith(PREFIXES))
    _refuse_unknown(
        name
        for name in ours
        if not name.startswith(_SHARED_IN_ENVIRONMENT) or get_close_matches(name, known, 1, cutoff=0.9)
    )


def _refuse_missing_hook(path: str) -> None:
    module, _, name = path.rpartition(".")
    try:
        if path:
            getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"FRONTIER_RUN_ENDED_HOOK is {path!r}, which cannot be imported: {error}") from None


def _refuse_what_cannot_work(settings: Mapping[str, Any]) -> None:
    for name, (is_wrong, instead) in _REFUSED.items():
        value = settings.get(name)
        if value is not None and is_wrong(value):
            raise ConfigError(f"{name}={value!r} is refused: {instead}")


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


_REFUSED: dict[str, tuple[Any, str]] = {
    "DOWNLOADER": (
        lambda value: str(value).startswith("scrapy."),
        ("hosts' limits would hold for one process only; leave it out, or subclass "
        "spiders_project.downloader.gated.GatedDownloader"),
    ),
    "ITEM_PROCESSOR": (
        lambda value: str(value).startswith("scrapy."),
        ("requests would be acked before their items are stored; leave it out, or subclass "
        "spiders_project.items.processor.DeliveringItemProcessor"),
    ),
    "SCHEDULER_PERSIST": (
        _is(False),
        "a worker that closes deletes nothing that others need; to empty a crawl use `scrapy frontier purge`",
    ),
    "SCHEDULER_FLUSH_ON_START": (
        _is(True),
        "a worker that starts deletes nothing that others need; to empty a crawl use `scrapy frontier purge`",
    ),
    "SCHEDULER_SERIALIZER": (
        _is_set,
        "requests are packed with msgpack and nothing is unpickled; leave it out",
    ),
    "SCHEDULER_QUEUE_CLASS": (
        lambda value: value not in _PRIORITY_QUEUES and not str(value).startswith("spiders_project."),
        "each host has a queue, by priority; for the order among equals set FRONTIER_ORDER",
    ),
    "SCHEDULER_QUEUE_KEY": (_is_set, "the keys of a crawl share a prefix; set FRONTIER_NAMESPACE"),
    "SCHEDULER_DUPEFILTER_KEY": (_is_set, "the keys of a crawl share a prefix; set FRONTIER_NAMESPACE"),
    "SCHEDULER_IDLE_BEFORE_CLOSE": (
        _is_not_zero,
        "it would block the worker; set MAX_IDLE_TIME_BEFORE_CLOSE (s)",
    ),
    "DUPEFILTER_CLASS": (
        lambda value: str(value).startswith(("scrapy.", "scrapy_redis.")),
        "only the frontier's own knows the seen set; leave it out, or set SCHEDULER too for a crawl in memory",
    ),
    "STATS_CLASS": (
        lambda value: str(value).startswith("scrapy_redis."),
        "it makes a blocking call for each count; leave it out, counts reach Redis with the heartbeat",
    ),
    "TWISTED_REACTOR": (
        lambda value: value != ASYNCIO_REACTOR,
        f"Redis and MongoDB are driven by asyncio; use {ASYNCIO_REACTOR}",
    ),
    "JOBDIR": (
        _is_set,
        "requests live in Redis, not in a directory, and a crawl resumes by itself; leave it out",
    ),
}  # fmt: skip
