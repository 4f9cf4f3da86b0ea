"""Every job: what its node says of it, beside the record that it left."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from deploy.jobs import Job
from deploy.records import as_json, get_all, newest, running
from spiders_project.jobs.record import DIED, FAILED, FINISHED, RUNNING, JobRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    import redis

    from deploy.fanout import FanOut

PENDING = "pending"
#: It runs, and its node does not know it: Scrapyd was restarted, and will not end it.
ORPHAN = "orphan"
#: Nobody says that it ended, and it has not been heard of for a while.
SILENT = "silent"
STATES = (PENDING, RUNNING, FINISHED, FAILED, DIED, ORPHAN, SILENT)


@dataclass(frozen=True)
class Outcome:
    """One job.

    Attributes:
        listed: What its node lists; None where the node has forgotten it, or does not answer.
        record: What it wrote itself; None for one that wrote nothing, or so long ago that it is forgotten.
        node_answers: Whether ``listed`` being None means that the node does not know it.
    """

    listed: Job | None
    record: JobRecord | None
    node_answers: bool = True

    @property
    def id(self) -> str:
        """The job's id."""
        return self.listed.id if self.listed else self.record.id if self.record else ""

    @property
    def node(self) -> str:
        """The node's name: that of scrapy.cfg, else what the job calls its node."""
        return self.listed.node if self.listed else self.record.node if self.record else ""

    @property
    def spider(self) -> str:
        """The spider's name."""
        return self.listed.spider if self.listed else self.record.spider if self.record else ""

    @property
    def version(self) -> str | None:
        """The egg's version; None where nobody says."""
        return (self.record and self.record.version) or (self.listed and self.listed.version) or None

    @property
    def state(self) -> str:
        """One of ``STATES``: the record's word where there is one, because Scrapyd calls every end "finished"."""
        node_says = self.listed.state if self.listed else None
        if self.record is None:
            return node_says or SILENT
        if self.record.state != RUNNING:
            return self.record.state
        if node_says == FINISHED:
            return DIED  # its process has ended, without a last word
        forgotten = node_says is None and self.node_answers
        if self.record.alive:
            return ORPHAN if forgotten else RUNNING
        return DIED if forgotten else SILENT

    @property
    def reason(self) -> str | None:
        """Why it ended; None while it runs."""
        if self.record is None:
            return "no record" if self.state == FINISHED else None
        return self.record.reason or None

    @property
    def failed(self) -> bool:
        """Whether somebody should look at it."""
        return self.state in {FAILED, DIED, SILENT}

    @property
    def started_at(self) -> float | None:
        """In unix seconds; by the node's own local time, taken for ours, where there is no record."""
        return self.record.started_at if self.record else _parsed(self.listed.start_time if self.listed else None)

    @property
    def ended_at(self) -> float | None:
        """As ``started_at``; None while it runs; when it was last heard of, where nobody says that it ended."""
        if self.record is None:
            return _parsed(self.listed.end_time if self.listed else None)
        return self.record.ended_at or (self.record.seen_at if self.failed else None)

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints: what the node lists, then what is known beyond it."""
        listed = asdict(self.listed) if self.listed else dict.fromkeys(Job.__dataclass_fields__)
        record = as_json(self.record) if self.record else None
        known = {name: getattr(self, name) for name in ("id", "node", "spider", "version", "state", "reason", "failed")}
        return {**listed, **known, "pid": (listed["pid"] or (record and record["pid"])), "record": record}


def gather(
    listed: FanOut[list[Job]],
    client: redis.Redis | None,
    *,
    since: float | None = None,
    records_since: float | None = None,
    nodes: Iterable[str] = (),
) -> list[Outcome]:
    """All jobs that the nodes list or that left a record, in the order of their start.

    Args:
        listed: What the nodes list.
        client: The frontier's Redis; None: without records.
        since: Jobs that started before this time (unix seconds) and have ended are left out; None: none are.
        records_since: How far back records of jobs are looked for that no node lists.
        nodes: Only records of these nodes; none: of all.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    jobs = {job.id: job for of_node in listed.done.values() for job in of_node}
    records: dict[str, JobRecord] = {}
    if client is not None:
        records = {record.id: record for record in (*newest(client, records_since), *running(client))}
        records |= {record.id: record for record in get_all(client, jobs.keys() - records.keys())}
    wanted = set(nodes)
    outcomes = [
        Outcome(jobs.get(job_id), records.get(job_id), node_answers=_answers(listed, records.get(job_id)))
        for job_id in dict.fromkeys((*jobs, *records))
        if job_id in jobs or not wanted or records[job_id].node in wanted
    ]
    kept = [one for one in outcomes if since is None or one.ended_at is None or (one.started_at or since) >= since]
    return sorted(kept, key=lambda one: one.started_at or float("inf"))


def _answers(listed: FanOut[list[Job]], record: JobRecord | None) -> bool:
    return record is None or record.node in listed.done


def _parsed(local: str | None) -> float | None:
    """Scrapyd's time without a zone."""
    try:
        return datetime.fromisoformat(local).timestamp() if local else None
    except ValueError:
        return None
