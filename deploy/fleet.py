"""``fleet.toml``: which nodes there are beyond their address, which crawls are to run, and when (docs/fleet.md).

Everything here is what the file says, checked; what runs is the supervisor's and the verbs' affair.
"""

from __future__ import annotations

import re
from datetime import datetime  # noqa: TC003 - pydantic reads the annotation
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from deploy.errors import UsageError
from deploy.fleet_checks import contradictions
from deploy.jobs import RESERVED_ARGUMENTS
from deploy.timers.times import cron_triggers
from deploy.toml_lines import TOMLDecodeError, line_of, loads
from spiders_project.redis_settings import start_urls_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FLEET_FILE = "fleet.toml"
#: Workers that a node runs at once where fleet.toml says nothing: what our nodes' max_proc is.
DEFAULT_CAPACITY = 4
_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_CRON_FIELDS = 5

Placement = Literal["spread", "least-loaded", "round-robin", "random"]
Overlap = Literal["skip", "queue", "replace"]
#: How the crawl that ``after`` names must have ended; ``any`` is either.
Outcome = Literal["done", "failed", "any"]


def _duration(value: Any) -> Any:
    """Seconds, from a number or from ``90s``, ``15m``, ``2h``, ``1d``."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if not match:
            raise ValueError("write seconds as a number, or like 90s, 15m, 2h, 1d")
        return float(match[1]) * _UNITS[match[2]]
    return value


def _text(value: Any) -> Any:
    """What a spider argument or a setting reads: text, also where TOML has a number or true."""
    return str(value) if isinstance(value, (bool, int, float)) else value


def _argument(name: str) -> str:
    if name in RESERVED_ARGUMENTS:
        raise ValueError("Scrapyd takes this name for itself, so that no spider argument can have it")
    return name


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise ValueError("no such time zone: write it like Europe/Berlin, or UTC") from error
    return name


def _cron(text: str) -> str:
    if len(text.split()) != _CRON_FIELDS:
        raise ValueError("five fields: minute, hour, day, month, day of the week")
    cron_triggers(text)
    return text


def _named(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("a name has only letters A-Z a-z, digits, '_' and '-'")
    return name


Name = Annotated[str, AfterValidator(_named)]
Seconds = Annotated[float, BeforeValidator(_duration), Field(gt=0)]
Text = Annotated[str, BeforeValidator(_text)]
Arguments = dict[Annotated[str, AfterValidator(_argument)], Text]
Zone = Annotated[str, AfterValidator(_zone)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NodeSpec(_Table):
    """``[nodes.NAME]``, where NAME is that of ``[deploy:NAME]`` in scrapy.cfg.

    Attributes:
        labels: What crawls may ask for.
        capacity: Workers that it runs at once; no more than its Scrapyd's ``max_proc``.
        weight: Its share of the workers beside the other nodes'.
        drain: It gets no new work.
    """

    labels: frozenset[Name] = frozenset()
    capacity: int = Field(default=DEFAULT_CAPACITY, ge=0)
    weight: float = Field(default=1.0, gt=0)
    drain: bool = False

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, values: Any) -> Any:
        return _as_sets(values)


class After(_Table):
    """What a crawl waits for: the end of a run of ``crawl``, ``done``, ``failed`` or ``any``."""

    crawl: Name
    state: Outcome = "done"


def _after(value: Any) -> Any:
    return {"crawl": value} if isinstance(value, str) else value


class CrawlSpec(_Table):
    """``[crawls.NAME]``.

    Attributes:
        spider: The spider's name; by default the crawl's.
        arguments: Spider arguments.
        settings: Scrapy settings of these jobs alone.
        workers: How many run side by side; 0: none for now.
        placement: How their nodes are chosen.
        labels: Only nodes that have all of them.
        max_per_node: At most so many of them on one node.
        priority: Where there is not room for all, the higher goes first.
        overlap: What happens when it is to start and runs already.
        timeout: A job that runs longer is ended and replaced, in seconds; None: it may run for ever.
        retries: How often in a row a worker that fails is replaced before the crawl is given up as crash-looping.
        after: It is started when a run of that crawl has ended so.
        seeds: A file of seeds, pushed when it starts; relative to fleet.toml.
    """

    spider: Name = ""
    arguments: Arguments = Field(default_factory=dict)
    settings: dict[str, Text] = Field(default_factory=dict)
    workers: int = Field(default=1, ge=0)
    placement: Placement = "spread"
    labels: frozenset[Name] = frozenset()
    max_per_node: int | None = Field(default=None, ge=1)
    priority: int = 0
    overlap: Overlap = "skip"
    timeout: Seconds | None = None
    retries: int = Field(default=5, ge=0)
    after: Annotated[After | None, BeforeValidator(_after)] = None
    seeds: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, values: Any) -> Any:
        return _as_sets(values)

    @property
    def namespace(self) -> str:
        """The prefix of its Redis keys."""
        return self.settings.get("FRONTIER_NAMESPACE") or self.spider


class TimerSpec(_Table):
    """``[timers.NAME]``: one of ``cron``, ``interval`` and ``date``, and one of ``crawl`` and ``spider``.

    Attributes:
        cron: Five fields, as in crontab.
        interval: Seconds between two firings.
        date: The one time at which it fires.
        timezone: Of ``cron``, and of a ``date`` that names none.
        jitter: It fires up to so many seconds later, by chance.
        misfire: What becomes of times that passed while no supervisor ran: fire ``once`` for all of them, ``skip``
            them, or fire for ``all``.
        max_instances: At most so many runs that it started go on at once.
        crawl: The crawl that it starts.
        spider: The spider that it starts, as one job.
        arguments: Spider arguments, of ``spider`` only.
        settings: Scrapy settings, of ``spider`` only.
    """

    cron: Annotated[str, AfterValidator(_cron)] | None = None
    interval: Seconds | None = None
    date: datetime | None = None
    timezone: Zone = "UTC"
    jitter: Annotated[float, BeforeValidator(_duration), Field(ge=0)] = 0.0
    misfire: Literal["once", "skip", "all"] = "once"
    max_instances: int = Field(default=1, ge=1)
    crawl: Name | None = None
    spider: Name | None = None
    arguments: Arguments = Field(default_factory=dict)
    settings: dict[str, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_of_each(self) -> TimerSpec:
        if sum(one is not None for one in (self.cron, self.interval, self.date)) != 1:
            raise ValueError("name exactly one of cron, interval and date")
        if (self.crawl is None) == (self.spider is None):
            raise ValueError("name exactly one of crawl and spider")
        if self.crawl and (self.arguments or self.settings):
            raise ValueError("arguments and settings of a crawl stand in [crawls]")
        return self


class Fleet(_Table):
    """The whole file; an absent file is an empty one."""

    nodes: dict[Name, NodeSpec] = Field(default_factory=dict)
    crawls: dict[Name, CrawlSpec] = Field(default_factory=dict)
    timers: dict[Name, TimerSpec] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _spiders(cls, values: Any) -> Any:
        """A crawl that names no spider has the spider's name."""
        crawls = values.get("crawls") if isinstance(values, dict) else None
        if not isinstance(crawls, dict):
            return values
        named = {
            name: {"spider": name, **crawl} if isinstance(crawl, dict) else crawl for name, crawl in crawls.items()
        }
        return {**values, "crawls": named}

    def node(self, name: str) -> NodeSpec:
        """What the file says of a node, or the defaults."""
        return self.nodes.get(name) or NodeSpec()


class FleetFile:
    """A text of ``fleet.toml``, and how to complain about it."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def error(self, key: Sequence[str | int], complaint: str) -> UsageError:
        """An error that names file, line and key."""
        return UsageError(self._where(key, complaint))

    def _where(self, key: Sequence[str | int], complaint: str) -> str:
        line = line_of(self.text, key)
        at = f", line {line}" if line else ""
        return f"{self.path}{at}: {'.'.join(map(str, key))}: {complaint}"

    def fleet(self, nodes: Iterable[str] | None = None) -> Fleet:
        """The file, checked; ``nodes`` are the names that scrapy.cfg has, where they are known.

        Raises:
            UsageError: Names the line and key of everything that is wrong.
        """
        try:
            values = loads(self.text)
        except TOMLDecodeError as error:
            raise UsageError(f"{self.path} is no TOML: {error}") from error
        try:
            fleet = Fleet.model_validate(values)
        except ValidationError as error:
            raise UsageError("\n".join(self._where(_key(e["loc"]), _complaint(e)) for e in error.errors())) from error
        wrong = [self._where(key, text) for key, text in contradictions(fleet, None if nodes is None else set(nodes))]
        if wrong:
            raise UsageError("\n".join(wrong))
        return fleet


def read_fleet(path: Path) -> FleetFile:
    """The file at ``path``; an empty one where there is none.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        return FleetFile(path, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return FleetFile(path, "")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def load_fleet(root: Path, nodes: Iterable[str] | None = None) -> Fleet:
    """``fleet.toml`` in ``root``, checked; see ``FleetFile.fleet``."""
    return read_fleet(root / FLEET_FILE).fleet(nodes)


def seeds_key(spec: CrawlSpec) -> str:
    """Where the workers of a crawl read their seeds."""
    return start_urls_key(spec.settings, spec.namespace)


def _as_sets(values: Any) -> Any:
    if isinstance(values, dict) and isinstance(values.get("labels"), (list, tuple)):
        return {**values, "labels": frozenset(map(str, values["labels"]))}
    return values


def _key(loc: Sequence[str | int]) -> list[str | int]:
    # pydantic names the key of a dict as a place of its own.
    return [part for part in loc if part != "[key]"]


def _complaint(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "no such key"
    given = error["input"]
    shown = f" (it is {given!r})" if isinstance(given, (str, int, float)) else ""
    return f"{error['msg'].removeprefix('Value error, ')}{shown}"
