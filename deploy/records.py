"""The records that jobs leave in Redis, from the operator's side: read, and completed for jobs that died."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from deploy.errors import ConnectError, DeployError
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.jobs import store
from spiders_project.jobs.last_error import fit_to_keep
from spiders_project.jobs.record import DIED, JobRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

__all__ = [
    "JobRecord",
    "as_json",
    "complete_as_died",
    "get",
    "get_all",
    "local_time",
    "newest",
    "running",
    "spoken",
    "utc_time",
]

get, get_all, newest, running = store.get, store.get_all, store.newest, store.running

#: How long the record of a job is kept that could write none itself, in seconds: the default of JOB_RECORDS_SECONDS.
KEEP_SECONDS = 30 * 86_400
_TRACEBACK = "Traceback (most recent call last):"
_LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[", re.MULTILINE)


@contextmanager
def spoken() -> Iterator[None]:
    """What reading and writing records raises, as our own errors.

    Raises:
        ConnectError: Redis does not answer.
        DeployError: Redis refuses.
    """
    try:
        yield
    except FrontierUnavailable as error:
        raise ConnectError(str(error)) from error
    except FrontierError as error:
        raise DeployError(str(error)) from error


def complete_as_died(
    client: redis.Redis,
    job_id: str,
    *,
    node: str = "",
    project: str = "",
    spider: str = "",
    version: str = "",
    reason: str = "died",
    log_tail: str = "",
    age: float = 0.0,
) -> bool:
    """Say that a job is dead which has not told its end itself; its end is the time when it was last seen.

    Safe to repeat, and when it is wrong: a job that comes back writes itself alive again. What its record says
    already goes before the arguments, which are what Scrapyd lists.

    Args:
        client: A blocking client with ``decode_responses`` off.
        job_id: Scrapyd's job id.
        node: The node's name.
        project: Scrapyd's project.
        spider: The spider's name.
        version: The egg's version.
        reason: Why it counts as dead.
        log_tail: The end of its log; a traceback in it is kept when the record has none.
        age: How long ago it started, in seconds, for a job without a record.

    Returns:
        False when the job has told its end, so that nothing was changed.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    known = store.get(client, job_id)
    facts: dict[str, Any] = {"reason": reason}
    if known is None:
        facts |= {"node": node, "project": project, "spider": spider, "namespace": spider, "version": version}
    if log_tail and not (known and known.error):
        facts["error"] = fit_to_keep(last_traceback(log_tail))
    keep = 0 if known else KEEP_SECONDS
    return store.write(client, job_id, DIED, facts, age=age, keep_seconds=keep) is not None


def last_traceback(log: str) -> str:
    """The last traceback in ``log``, up to the next line with a time; the last lines where there is none."""
    start = log.rfind(_TRACEBACK)
    if start < 0:
        return "\n".join(log.splitlines()[-5:])
    end = _LOG_LINE.search(log, start)
    return log[start : end.start() if end else None].rstrip()


def as_json(record: JobRecord) -> dict[str, Any]:
    """The record as ``--json`` prints it; times are ISO 8601 in UTC."""
    fields = {name: getattr(record, name) for name in JobRecord.__dataclass_fields__}
    for name in ("started_at", "ended_at", "seen_at"):
        fields[name] = utc_time(fields[name])
    return {**fields, "stats": dict(record.stats), "failed": record.failed}


def utc_time(seconds: float | None) -> str | None:
    """``2026-11-30T22:41:07+00:00``; None for None."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds") if seconds else None


def local_time(seconds: float | None) -> str | None:
    """``2026-11-30 23:41:07 CET``: local time with its zone; None for None."""
    if not seconds:
        return None
    return f"{datetime.fromtimestamp(seconds, timezone.utc).astimezone():%Y-%m-%d %H:%M:%S %Z}"
