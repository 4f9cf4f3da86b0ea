"""Jobs: start them, list them, cancel them and see that they have ended."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.client import NodeClient
from deploy.errors import DeployError, NodeError, UsageError
from deploy.fanout import FanOut, fan_out
from deploy.release import newest_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from deploy.targets import Node

STATES = ("pending", "running", "finished")
#: schedule.json takes these for itself, so that no spider argument can have their names.
RESERVED_ARGUMENTS = frozenset({"project", "spider", "setting", "jobid", "priority", "_version", "_job"})
_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Job:
    """One job as its node lists it; times are the node's own, in its time zone."""

    node: str
    id: str
    spider: str
    state: str
    version: str | None = None
    pid: int | None = None
    start_time: str | None = None
    end_time: str | None = None
    log_url: str | None = None


def list_jobs(nodes: Sequence[Node]) -> FanOut[list[Job]]:
    """The jobs that each node knows: Scrapyd forgets finished ones when it restarts."""
    return fan_out(nodes, _jobs_of)


def _jobs_of(node: Node) -> list[Job]:
    client = NodeClient(node)
    if node.project not in client.list_projects():
        return []
    answer = client.list_jobs(node.project)
    fields = Job.__dataclass_fields__.keys() - {"node", "state"}
    return [
        Job(node=node.name, state=state, **{key: value for key, value in entry.items() if key in fields})
        for state in STATES
        for entry in answer[state]
    ]


def parse_pairs(pairs: Iterable[str], what: str) -> dict[str, str]:
    """``["a=1", "b=x=y"]`` as ``{"a": "1", "b": "x=y"}``.

    Raises:
        UsageError: An entry without ``=`` or without a name.
    """
    parsed: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{what} {pair!r}: write NAME=VALUE")
        parsed[name] = value
    return parsed


def schedule(
    nodes: Sequence[Node],
    spider: str,
    *,
    version: str,
    arguments: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    workers: int = 1,
) -> FanOut[list[str]]:
    """Start ``workers`` jobs of ``spider`` on each node, from ``version``; the job ids by node.

    Raises:
        UsageError: A spider argument has a name that schedule.json takes for itself.
    """
    arguments = dict(arguments or {})
    if taken := sorted(RESERVED_ARGUMENTS & arguments.keys()):
        raise UsageError(f"no spider argument can be called {', '.join(taken)}: Scrapyd takes it for itself")

    def work(node: Node) -> list[str]:
        client = NodeClient(node)
        scheduled: list[str] = []
        for _ in range(workers):
            job = uuid.uuid4().hex
            try:
                client.start(
                    node.project,
                    spider,
                    job=job,
                    version=version,
                    arguments=arguments,
                    settings=settings or {},
                )
            except NodeError as error:
                started = f" (started before: {', '.join(scheduled)})" if scheduled else ""
                raise type(error)(f"{error} [job {job}]{started}") from error
            scheduled.append(job)
        return scheduled

    return fan_out(nodes, work)


def choose_version(root: Path, nodes: Sequence[Node]) -> str:
    """The newest version on any of the nodes; one that lacks it fails when the job is scheduled there.

    Raises:
        DeployError: No version on any node, or a node does not answer.
    """
    versions = fan_out(nodes, lambda node: NodeClient(node).list_versions(node.project))
    versions.check()
    known = dict.fromkeys(version for held in versions.done.values() for version in held)
    newest = newest_version(root, nodes[0].project, known)
    if newest is None:
        raise DeployError(f"no version on {', '.join(node.name for node in nodes)}: `python -m deploy push` first")
    return newest


def cancel(nodes: Sequence[Node], jobs: Iterable[Job], *, wait_seconds: float = 30) -> FanOut[list[str]]:
    """Cancel jobs and wait until their nodes list them no longer as pending or running; the ids by node.

    A running worker finishes the pages in its hands first, so this takes as long as its slowest download.
    Nodes without a job among ``jobs`` are left out.
    """
    by_node: dict[str, list[Job]] = {}
    for job in jobs:
        by_node.setdefault(job.node, []).append(job)

    def work(node: Node) -> list[str]:
        client = NodeClient(node)
        wanted = [job.id for job in by_node[node.name]]
        left = _cancel_until_ended(client, node, wanted, wait_seconds)
        if left:
            raise NodeError(
                f"{node.name}: cancelled, and still running after {wait_seconds:g} s: {', '.join(left)}; "
                "see its log, or cancel it again, which makes Scrapy drop the pages in its hands"
            )
        return wanted

    return fan_out([node for node in nodes if node.name in by_node], work)


def _cancel_until_ended(client: NodeClient, node: Node, jobs: Sequence[str], wait_seconds: float) -> list[str]:
    """The jobs that are left after ``wait_seconds``."""
    deadline = time.monotonic() + wait_seconds
    signalled: set[str] = set()
    left = list(jobs)
    while True:
        # A job between the queue and its process is in neither, and cancel.json says so with None: ask again.
        signalled |= {job for job in left if job not in signalled and client.cancel(node.project, job)}
        answer = client.list_jobs(node.project)
        alive = {entry["id"] for state in ("pending", "running") for entry in answer[state]}
        left = [job for job in jobs if job in alive]
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(_POLL_SECONDS)
