"""Job records in the frontier's Redis: one hash for each job, and an index by start time."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError, RedisError

from spiders_project.frontier.connection import translated
from spiders_project.jobs.record import RUNNING, JobRecord, record_of
from spiders_project.keys import FleetKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import redis

KEYS = FleetKeys()
#: Records read in one call.
_PAGE = 500


@cache
def _script() -> tuple[str, str]:
    """The text of ``record.lua`` and its hash, also inside an egg."""
    text = (files(__package__) / "record.lua").read_text("utf-8")
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def write(
    client: redis.Redis,
    job_id: str,
    state: str,
    facts: Mapping[str, Any],
    *,
    process: str = "",
    age: float = 0.0,
    clock: float | None = None,
    keep_seconds: int = 0,
) -> float | None:
    """Write what is known of a job, and put it into the index.

    Args:
        client: A blocking client with ``decode_responses`` off.
        job_id: The job's id.
        state: ``running``, ``finished``, ``failed`` or ``died``.
        facts: Fields of ``JobRecord``; ``stats`` as a mapping.
        process: ``this_process()`` of the job; empty when somebody else writes.
        age: How long the process has lived, in seconds; gives the start where it is not known yet.
        clock: The process's own clock, in unix seconds.
        keep_seconds: When the record expires, from now on; 0: as it was.

    Returns:
        The job's start in unix seconds, or None when nothing was changed.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    fields: list[str | float] = []
    for name, value in facts.items():
        if value is not None:
            fields += (name, json.dumps(value) if isinstance(value, dict) else value)
    arguments = (
        *(process, keep_seconds, state, round(age * 1000), "" if clock is None else round(clock * 1000)),
        *fields,
    )
    with translated():
        started: Any = _run(client, KEYS.job(job_id), arguments)
        if not started:
            return None
        # Not in the script: on Redis Cluster these keys lie on other nodes.
        pipe = client.pipeline(transaction=False)
        pipe.zadd(KEYS.jobs, {job_id: int(started)})
        if state == RUNNING:
            pipe.zadd(KEYS.running, {job_id: int(started)})
        else:
            pipe.zrem(KEYS.running, job_id)
        pipe.execute()
    return int(started) / 1000


def _run(client: redis.Redis, key: str, arguments: tuple[str | float, ...]) -> Any:
    text, sha = _script()
    try:
        return client.evalsha(sha, 1, key, *arguments)
    except NoScriptError:
        return client.eval(text, 1, key, *arguments)


def trim(client: redis.Redis, keep_seconds: int, most: int) -> None:
    """Forget what is older than ``keep_seconds``, and the oldest records beyond ``most``.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    with translated():
        for index in (KEYS.jobs, KEYS.running):  # a job that runs for longer puts itself back
            client.zremrangebyscore(index, "-inf", round((_now(client) - keep_seconds) * 1000))
        excess: Any = client.zcard(KEYS.jobs)
        excess -= most
        if excess > 0:
            oldest: Any = client.zrange(KEYS.jobs, 0, excess - 1)
            pipe = client.pipeline(transaction=False)
            for job_id in oldest:
                pipe.unlink(KEYS.job(job_id.decode()))
                pipe.zrem(KEYS.jobs, job_id)
                pipe.zrem(KEYS.running, job_id)
            pipe.execute()


def get(client: redis.Redis, job_id: str) -> JobRecord | None:
    """The record of one job; None where there is none, or no more.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    return next(iter(get_all(client, [job_id])), None)


def get_all(client: redis.Redis, job_ids: Iterable[str]) -> list[JobRecord]:
    """The records of these jobs, in their order, as far as there are any; raises as ``get``."""
    wanted = list(job_ids)
    found: list[JobRecord] = []
    for start in range(0, len(wanted), _PAGE):
        found += _page(client, wanted[start : start + _PAGE])
    return found


def _page(client: redis.Redis, job_ids: list[str]) -> list[JobRecord]:
    with translated():
        pipe = client.pipeline(transaction=False)
        for job_id in job_ids:
            pipe.hgetall(KEYS.job(job_id))
        found = pipe.execute(raise_on_error=False)
        now = _now(client)
        for answer in found:
            # A key that somebody made something else of is no record, and harms no other.
            if isinstance(answer, RedisError) and "WRONGTYPE" not in str(answer):
                raise answer
    pairs = zip(job_ids, found, strict=True)
    return [record_of(job_id, fields, now) for job_id, fields in pairs if isinstance(fields, dict) and fields]


def newest(client: redis.Redis, since: float | None = None) -> Iterator[JobRecord]:
    """The records of jobs that started at ``since`` (unix seconds) or later, the newest first; raises as ``get``."""
    lowest = "-inf" if since is None else round(since * 1000)
    offset = 0
    while True:
        with translated():
            ids: Any = client.zrevrangebyscore(KEYS.jobs, "+inf", lowest, start=offset, num=_PAGE)
        if not ids:
            return
        yield from _page(client, [job_id.decode("utf-8", "replace") for job_id in ids])
        offset += len(ids)


def running(client: redis.Redis) -> list[JobRecord]:
    """The records of jobs that have not told their end, the oldest first: alive, or silent; raises as ``get``."""
    with translated():
        ids: Any = client.zrange(KEYS.running, 0, -1)
    return [
        one for one in get_all(client, [job_id.decode("utf-8", "replace") for job_id in ids]) if one.state == RUNNING
    ]


def _now(client: redis.Redis) -> float:
    # By a script, since on Redis Cluster TIME asks every node.
    answer: Any = client.eval("return redis.call('TIME')", 1, KEYS.jobs)
    return int(answer[0]) + int(answer[1]) / 1e6
