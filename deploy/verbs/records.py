"""``jobs``, ``logs`` and ``history``: how jobs stand, what they say, and how they ended."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import click

from deploy import records
from deploy.egg import project_root
from deploy.environment import redis_url
from deploy.errors import DeployError, NodeError, UsageError
from deploy.jobs import list_jobs
from deploy.logs import JobLog, find_log, follow
from deploy.outcomes import STATES, Outcome, gather
from deploy.output import print_json, print_table, say
from deploy.seed import redis_client
from deploy.verbs import chosen_nodes, json_option, target_option
from deploy.watch import elapsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import redis

    from deploy.records import JobRecord

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
#: Records that ``jobs`` shows when nothing else is asked for, in seconds.
_DAY = 86_400
#: Characters of an error in a table.
_MOST_ERROR = 100


def _seconds(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """``90s``, ``30m``, ``2h``, ``3d`` or ``1w``, as seconds."""
    if value is None:
        return None
    number, unit = value[:-1], value[-1:]
    if not number.isdigit() or unit not in _UNITS:
        raise click.BadParameter(f"{value!r}: write it like 30m, 2h, 3d or 1w")
    return float(int(number) * _UNITS[unit])


@click.command("jobs")
@target_option
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only these; can be repeated.")
@click.option("--failed", is_flag=True, help="Only those that failed, died or fell silent, with their last error.")
@click.option(
    "--since", callback=_seconds, metavar="2h", help="Only what started since then, or runs; 30m, 2h, 3d, 1w."
)
@json_option
def jobs_command(
    *, targets: tuple[str, ...], states: tuple[str, ...], failed: bool, since: float | None, as_json: bool
) -> None:
    """List jobs: all that the nodes know, and those that left a record within a day, or --since.

    A job's own record goes before what Scrapyd says, for whom every end is "finished". Jobs that were started
    by curl are seen like any other.

    \b
    Examples:
      python -m deploy jobs
      python -m deploy jobs --state running --json
      python -m deploy jobs --failed --since 2h
    """
    listed = list_jobs(chosen_nodes(targets))
    now = time.time()
    start, records_since = now - since if since else None, now - (since or _DAY)
    unread: DeployError | None = None
    try:
        with _redis() as client:
            outcomes = gather(listed, client, since=start, records_since=records_since, nodes=targets)
    except (UsageError, DeployError) as error:
        outcomes = gather(listed, None, since=start)
        if isinstance(error, UsageError):
            say(f"without the records of the jobs: {error}")
        else:
            unread = error
    outcomes = [one for one in outcomes if one.state in (states or STATES) and (one.failed or not failed)]
    if as_json:
        print_json([one.as_json() for one in outcomes])
    else:
        _print(outcomes, with_error=failed)
    listed.check()
    if unread is not None:
        raise unread


def _print(outcomes: list[Outcome], *, with_error: bool) -> None:
    counts = ("pages", "items", "errors", "dead")
    rows = []
    for one in outcomes:
        stats: Mapping[str, int] = one.record.stats if one.record else {}
        times = (records.local_time(one.started_at), _lasted(one.started_at, one.ended_at))
        row = (one.node, one.id, one.spider, one.state, one.reason, *times, *(stats.get(name) for name in counts))
        rows.append((*row, _last_line(one.record)) if with_error else row)
    columns = ("node", "job", "spider", "state", "reason", "started", "lasted", *counts)
    if not rows:
        say("no such jobs")
    print_table((*columns, "last error") if with_error else columns, rows)


@click.command("logs")
@click.argument("job")
@target_option
@click.option("-f", "--follow", "following", is_flag=True, help="Go on until the job has ended.")
@click.option("-n", "--lines", type=click.IntRange(0), default=100, show_default=True, help="Begin so many lines back.")
@click.option("--all", "whole", is_flag=True, help="Begin at its first line.")
def logs_command(*, job: str, targets: tuple[str, ...], following: bool, lines: int, whole: bool) -> None:
    """Print the log of JOB, from the node that it runs or ran on.

    \b
    Examples:
      python -m deploy logs 9791e76879304f0d9c1d5903deb18819
      python -m deploy logs -f 9791e76879304f0d9c1d5903deb18819
      python -m deploy logs --all 9791e76879304f0d9c1d5903deb18819 > job.log
    """
    nodes = chosen_nodes(targets)
    log = find_log(nodes, job, _record(job))
    start = 0 if whole else log.start_of_tail(lines)
    out = sys.stdout.buffer
    for block in follow(log, start, lambda: following and _runs(log), say):
        out.write(block)
        out.flush()


def _record(job: str) -> JobRecord | None:
    """The job's record, where Redis is known and answers."""
    try:
        with _redis() as client:
            return records.get(client, job)
    except DeployError:
        return None


def _runs(log: JobLog) -> bool:
    record = _record(log.job)
    if record is not None and record.state != "running":
        return False
    if record is not None and record.alive:
        return True  # also one that its node has forgotten
    try:
        return log.is_listed()
    except NodeError:
        return True  # nobody says that it ended


@click.command("history")
@click.argument("spider")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many jobs.")
@json_option
def history_command(*, spider: str, limit: int, as_json: bool) -> None:
    """Show how the last jobs of SPIDER ended, the newest first, as their records say.

    \b
    Examples:
      python -m deploy history site
      python -m deploy history site -n 100 --json
    """
    with _redis() as client:
        found = list(islice((one for one in records.newest(client) if one.spider == spider), limit))
    if not found:
        say(f"no job of a spider {spider!r} has left a record; `python -m deploy jobs` shows what the nodes know")
    if as_json:
        print_json([records.as_json(one) for one in found])
        return
    counts = ("pages", "items", "errors", "dead", "retries")
    print_table(
        ("started", "node", "job", "version", "state", "reason", "lasted", *counts, "last error"),
        [
            (
                *(records.local_time(one.started_at), one.node, one.id, one.version or None, one.state),
                *(one.reason or None, _lasted(one.started_at, one.ended_at or one.seen_at)),
                *(one.stats.get(name) for name in counts),
                _last_line(one),
            )
            for one in found
        ],
    )


@contextmanager
def _redis() -> Iterator[redis.Redis]:
    """The frontier's Redis, its errors as ours.

    Raises:
        UsageError: Nothing says where it is.
        ConnectError: It does not answer.
        DeployError: It refuses.
    """
    client = redis_client(redis_url(project_root()))
    try:
        with records.spoken():
            yield client
    finally:
        client.close()


def _lasted(start: float | None, end: float | None) -> str | None:
    return elapsed(max(0.0, (end or time.time()) - start)) if start else None


def _last_line(record: JobRecord | None) -> str | None:
    """Of its last traceback, where the exception stands."""
    lines = record.error.rstrip().splitlines() if record else []
    return lines[-1][:_MOST_ERROR] if lines else None
