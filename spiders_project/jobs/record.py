"""One job's record: the fields of the hash ``fleet:job:<id>``, and how they are read back."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spiders_project import egg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spiders_project.config import Options

RUNNING, FINISHED, FAILED, DIED = "running", "finished", "failed", "died"
STATES = (RUNNING, FINISHED, FAILED, DIED)
#: The share of a lease after which a silent job counts as dead, as for the frontier's workers.
PATIENCE = 2 / 3
#: What a record keeps of the last traceback, in characters: its end, where the exception stands.
MOST_ERROR = 4000

_BORN = time.time()
_BORN_MONOTONIC = time.monotonic()


def this_process() -> str:
    """What tells this process from another one under the same job id: ids can be chosen, and chosen again."""
    return f"{os.getpid()}@{_BORN * 1000:.0f}"


def age_of_process() -> float:
    """Seconds since this process began (since it imported this module)."""
    return time.monotonic() - _BORN_MONOTONIC


def job_id(argument: str) -> str:
    """The id of this process's job: SCRAPY_JOB, or Scrapyd's ``argument`` ``_job``; empty where it is no job."""
    return os.environ.get("SCRAPY_JOB") or argument


def facts_of(spider: str, version: str, options: Options) -> dict[str, Any]:
    """What does not change while the job runs; ``version`` is Scrapyd's argument ``_version``."""
    return {
        "node": options.node_name,
        "project": os.environ.get("SCRAPY_PROJECT", ""),
        "spider": spider,
        "namespace": options.frontier_namespace or spider,
        "version": version or egg.version(),
        "pid": os.getpid(),
        "lease": options.frontier_lease_seconds,
    }


def state_of(reason: str) -> str:
    """How a job ended whose spider closed for ``reason``."""
    return FAILED if reason.endswith(("_error", "_failure")) else FINISHED


@dataclass(frozen=True)
class JobRecord:
    """What is known of one job. Times are unix seconds by Redis's clock.

    Attributes:
        id: Scrapyd's job id.
        node: The name of its node (``NODE_NAME``, else the host's name).
        project: Scrapyd's project, or empty.
        spider: The spider's name.
        namespace: The crawl's namespace in Redis, or empty where the job never got so far.
        version: The egg's version, or empty.
        worker: Its id in the frontier; empty for a spider on a scheduler of Scrapy's.
        pid: Its process on the node.
        state: ``running``, ``finished`` (closed by itself or told to), ``failed`` or ``died`` (others found it dead).
        reason: Scrapy's finish reason; ``refused``, ``not_opened`` or ``not_closed`` where there is none; empty so far.
        alive: Whether it runs and has said so lately.
        started_at: When the process began.
        ended_at: When it ended; for one that died the last time it was seen; None while it runs.
        seen_at: When it last wrote its record; None when it never did.
        stats: ``pages``, ``items``, ``errors``, ``dead`` (letters), ``retries``.
        error: Its last traceback, without secrets, or empty.
        load: The node's load average over the last minute; None where there is none.
        memory: Resident memory of the process, in bytes; None where it cannot be known.
        clock_off: How many seconds the node's clock is before Redis's; None when the job never wrote.
    """

    id: str
    node: str = ""
    project: str = ""
    spider: str = ""
    namespace: str = ""
    version: str = ""
    worker: str = ""
    pid: int | None = None
    state: str = RUNNING
    reason: str = ""
    alive: bool = False
    started_at: float = 0.0
    ended_at: float | None = None
    seen_at: float | None = None
    stats: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    load: float | None = None
    memory: int | None = None
    clock_off: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than a job should, or is silent though nobody has said that it ended."""
        return self.state in {FAILED, DIED} or (self.state == RUNNING and not self.alive)


def record_of(job_id: str, fields: Mapping[bytes, bytes], now: float) -> JobRecord:
    """The record that the hash ``fields`` holds; what is missing or malformed has its default.

    Args:
        job_id: The job's id.
        fields: The hash, as Redis gives it.
        now: Redis's clock, in unix seconds.
    """
    said = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in fields.items()}
    number = {name: _number(said.get(name)) for name in ("pid", "started_at", "ended_at", "seen_at", "memory", "lease")}
    seen_at = _seconds(number["seen_at"])
    state = said.get("state", RUNNING)
    patience = (number["lease"] or 0) * PATIENCE
    names = ("node", "project", "spider", "namespace", "version", "worker", "reason", "error")
    return JobRecord(
        id=job_id,
        **{name: said.get(name, "") for name in names},
        pid=_whole(number["pid"]),
        state=state if state in STATES else RUNNING,
        alive=state == RUNNING and seen_at is not None and now - seen_at < patience,
        started_at=_seconds(number["started_at"]) or 0.0,
        ended_at=_seconds(number["ended_at"]),
        seen_at=seen_at,
        stats=_counts(said.get("stats")),
        load=_number(said.get("load")),
        memory=_whole(number["memory"]),
        clock_off=_seconds(_number(said.get("clock_off"))),
    )


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _counts(text: str | None) -> dict[str, int]:
    try:
        value: Any = json.loads(text) if text else {}
    except ValueError:
        return {}
    return {name: count for name, count in value.items() if isinstance(count, int)} if isinstance(value, dict) else {}
