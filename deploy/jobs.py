"""Jobs: start them, list them, cancel them and see that they have ended."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.client import NodeClient
from deploy.errors import DeployError, NodeError, UsageError
from deploy.fanout import FanOut, fan_out
from deploy.released import newest_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from deploy.targets import Node

STATES = ("pending", "running", "finished")
#: schedule.json takes these for itself, so that no spider argument can have their names.
RESERVED_ARGUMENTS = frozenset({"project", "spider", "setting", "jobid", "priority", "_version", "_job"})
_POLL_SECONDS = 0.25
#: A process that still has no log after this long is on a node that keeps none.
_START_SECONDS = 10
#: A worker that was told to drop its pages has this long, and a killed one again.
_DROP_SECONDS = 10


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


def new_jobs(nodes: Sequence[Node], spider: str, workers: int = 1) -> list[Job]:
    """Jobs with ids of our own, so that one whose answer got lost, or was not waited for, can be cancelled."""
    return [Job(node.name, uuid.uuid4().hex, spider, "pending") for node in nodes for _ in range(workers)]


def schedule(
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    *,
    version: str,
    arguments: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> FanOut[list[str]]:
    """Start ``jobs`` on their nodes from ``version``, with these spider arguments and settings; the ids by node.

    Raises:
        UsageError: A spider argument has a name that schedule.json takes for itself.
    """
    arguments = dict(arguments or {})
    if taken := sorted(RESERVED_ARGUMENTS & arguments.keys()):
        raise UsageError(f"no spider argument can be called {', '.join(taken)}: Scrapyd takes it for itself")

    def work(node: Node) -> list[str]:
        client = NodeClient(node)
        started: list[str] = []
        for job in jobs:
            if job.node != node.name:
                continue
            try:
                client.start(
                    node.project,
                    job.spider,
                    job=job.id,
                    version=version,
                    arguments=arguments,
                    settings=settings or {},
                )
            except NodeError as error:
                before = f" (started before: {', '.join(started)})" if started else ""
                raise type(error)(f"{error} [job {job.id}]{before}") from error
            started.append(job.id)
        return started

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

    A running worker first finishes the pages in its hands. After ``wait_seconds`` it is told to drop them (they
    go back to the frontier), and killed when it does not hear that either. Nodes without a job among ``jobs``
    are left out.
    """
    by_node: dict[str, list[str]] = {}
    for job in jobs:
        by_node.setdefault(job.node, []).append(job.id)

    def work(node: Node) -> list[str]:
        left = _cancel_until_ended(NodeClient(node), node.project, by_node[node.name], wait_seconds)
        if left:
            raise NodeError(f"{node.name}: killed, and still listed as running: {', '.join(left)}; look at the machine")
        return by_node[node.name]

    return fan_out([node for node in nodes if node.name in by_node], work)


def _cancel_until_ended(client: NodeClient, project: str, jobs: Sequence[str], wait_seconds: float) -> list[str]:
    """The jobs that are left when everything has been tried."""
    steps = ((0.0, "INT"), (wait_seconds, "INT"), (wait_seconds + _DROP_SECONDS, "KILL"))
    taken = dict.fromkeys(jobs, 0)
    began = time.monotonic()
    while True:
        answer = client.list_jobs(project)
        alive = {entry["id"]: entry for state in ("pending", "running") for entry in answer[state]}
        left = [job for job in jobs if job in alive]
        seconds = time.monotonic() - began
        if not left or seconds > wait_seconds + 2 * _DROP_SECONDS:
            return left
        for job in left:
            at, signal = steps[min(taken[job], len(steps) - 1)]
            if seconds >= at:
                client.cancel(project, job, signal)
                # A process hears no signal before it has a log, and cancel.json answers ok all the same.
                taken[job] += bool(alive[job].get("log_url")) or seconds > _START_SECONDS
        time.sleep(_POLL_SECONDS)
