"""What is refused at start, wherever it was set: typos, malformed values, settings that cannot work here."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from spiders_project.components import has_enabled, is_a, loaded
from spiders_project.config import PREFIXES, Options
from spiders_project.errors import ConfigError
from spiders_project.keys import Keys
from spiders_project.redis_settings import sentinel_addresses
from spiders_project.refusals import COMPONENTS, DERIVED, NOT_ON_THE_FRONTIER, ONLY_ON_THE_FRONTIER
from spiders_project.stock import check_stock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FRONTIER_SCHEDULER = "spiders_project.frontier.scheduler.Scheduler"
#: Other programs read variables with these prefixes, so only a near miss of a name of ours is a typo there.
_SHARED_IN_ENVIRONMENT = ("MONGO_",)


def check(settings: Mapping[str, Any], environ: Mapping[str, str] | None = None, spider: str | None = None) -> Options:
    """Check every setting and return this project's options.

    Args:
        settings: All settings as merged from settings.py, the spider, the command line and the environment.
        environ: The environment; None for this process's.
        spider: The name of the spider that is to run, where it is known.

    Raises:
        ConfigError: Names the first setting that is wrong, and says what to do.
    """
    for problem in settings.get("ENVIRONMENT_PROBLEMS") or ():
        raise ConfigError(problem)
    _refuse_unknown(settings)
    _refuse_unknown_variables(os.environ if environ is None else environ)
    options = Options.from_settings(settings)
    if options.frontier_run_ended_hook:
        loaded("FRONTIER_RUN_ENDED_HOOK", options.frontier_run_ended_hook)
    check_stock(settings)
    sentinel_addresses(settings)
    if uses_frontier(settings):
        _refuse_values(settings, NOT_ON_THE_FRONTIER)
        _refuse_other_classes(settings)
        _refuse_missing_components(settings)
        if spider is not None:
            Keys(options.frontier_namespace or spider)
    else:
        _refuse_values(settings, ONLY_ON_THE_FRONTIER)
    return options


def uses_frontier(settings: Mapping[str, Any]) -> bool:
    """Whether the crawl runs on the shared frontier, and not on another scheduler.

    Raises:
        ConfigError: SCHEDULER cannot be imported.
    """
    scheduler = settings.get("SCHEDULER")
    return bool(scheduler) and is_a("SCHEDULER", scheduler, FRONTIER_SCHEDULER)


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


def _refuse_values(settings: Mapping[str, Any], refusals: Mapping[str, tuple[Any, str]]) -> None:
    for name, (is_wrong, instead) in refusals.items():
        value = settings.get(name)
        if value is not None and _is_chosen(settings, name) and is_wrong(value):
            raise ConfigError(f"{name}={value!r} is refused: {instead}")


def _is_chosen(settings: Any, name: str) -> bool:
    """Whether somebody set it: Scrapy's own defaults have priority 0."""
    priority_of = getattr(settings, "getpriority", lambda _: 1)
    return priority_of(name) != 0


def _refuse_other_classes(settings: Mapping[str, Any]) -> None:
    for name, (path, why) in DERIVED.items():
        value = settings.get(name)
        if value is not None and _is_chosen(settings, name) and not is_a(name, value, path):
            raise ConfigError(f"{name}={value!r} is refused: {why}; leave it out, or subclass {path}")


def _refuse_missing_components(settings: Mapping[str, Any]) -> None:
    for name, (path, order, why) in COMPONENTS.items():
        components = settings.get(name)
        if components is not None and _is_chosen(settings, name) and not has_enabled(name, components, path):
            raise ConfigError(f"{name} lacks {path}: {why}; add {{{path!r}: {order}}} to it")
