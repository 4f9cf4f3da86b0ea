"""What is: the nodes by HTTP, the workers by their heartbeats in Redis."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deploy.client import NodeClient
from deploy.errors import ConnectError, DeployError
from deploy.fanout import MAX_THREADS
from deploy.redis_errors import spoken
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.inspect import CrawlStatus, Worker, crawl_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import redis

    from deploy.crawls import Wanted
    from deploy.fleet import NodeSpec
    from deploy.supervisor.limits import Limits
    from deploy.supervisor.records import Placed, Seen
    from deploy.targets import Node


@dataclass(frozen=True)
class Listed:
    """A job as its node lists it: ``pending``, ``running`` or ``finished``.

    ``hears``: it has a log, and so a handler of signals.
    """

    id: str
    state: str
    spider: str
    project: str = ""
    hears: bool = False


@dataclass(frozen=True)
class NodeView:
    """One node at one moment.

    Attributes:
        name: The node's.
        spec: What fleet.toml says of it.
        jobs: What it listed when it last answered, by id.
        silent_for: Seconds since it last answered; 0: it answers.
        error: Why it does not.
        drained: It gets no new work.
        limit: At most so many jobs, by what it was seen to start; None: as its capacity says.
        started_at: When a job was last seen to start there, in unix seconds by Redis's clock.
    """

    name: str
    spec: NodeSpec
    jobs: Mapping[str, Listed] = field(default_factory=dict)
    silent_for: float = 0.0
    error: str = ""
    drained: bool = False
    limit: int | None = None
    started_at: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether ``jobs`` is how it is now."""
        return not self.error

    def count(self, state: str) -> int:
        """Its jobs in this state, of all projects."""
        return sum(job.state == state for job in self.jobs.values())


@dataclass(frozen=True)
class World:
    """Everything that a decision needs.

    Attributes:
        now: Redis's clock, in unix seconds.
        nodes: By name.
        wanted: What ought to run, by crawl.
        placed: The jobs that were placed, by id.
        seen: What the last round made of each crawl.
        statuses: How each crawl's frontier stands.
        beats: The last heartbeat that was ever seen of each job, in unix seconds.
        refused: Why jobs of the last round were refused by their nodes, by id; empty: they were never sent.
        judging: Redis has answered long enough to believe that a missing heartbeat is none.
    """

    now: float
    nodes: Mapping[str, NodeView]
    wanted: Mapping[str, Wanted]
    placed: Mapping[str, Placed]
    seen: Mapping[str, Seen]
    statuses: Mapping[str, CrawlStatus]
    beats: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    judging: bool = True

    def worker(self, job: Placed) -> Worker | None:
        """The worker of ``job`` by its newest heartbeat; None: it never sent one."""
        status = self.statuses.get(job.crawl)
        mine = [worker for worker in status.workers if worker.job == job.id] if status else []
        return max(mine, key=lambda worker: worker.seen_at, default=None)


@dataclass
class _Heard:
    jobs: dict[str, Listed] = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)
    error: str = "not asked yet"


class NodeWatch:
    """Asks all nodes side by side; one that is slow holds up nobody, and is asked again when it has answered.

    Args:
        nodes: Whom to ask.
        limits: How patiently.
    """

    def __init__(self, nodes: Sequence[Node], limits: Limits) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._limits = limits
        self._heard = {name: _Heard() for name in self.nodes}
        self._asked: dict[str, Future[dict[str, Listed]]] = {}
        self._pool = ThreadPoolExecutor(max_workers=min(len(nodes), 2 * MAX_THREADS) or 1)

    def close(self) -> None:
        """No question is waited for any more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def look(self) -> dict[str, _Heard]:
        """What each node said last; waits for those that are quick."""
        for name, node in self.nodes.items():
            if name not in self._asked:
                self._asked[name] = self._pool.submit(self._ask, node)
        wait(self._asked.values(), timeout=self._limits.connect)
        for name, answer in list(self._asked.items()):
            heard = self._heard[name]
            if not answer.done():
                heard.error = heard.error or f"{name}: slow to answer"
                continue
            del self._asked[name]
            try:
                heard.jobs, heard.at, heard.error = answer.result(), time.monotonic(), ""
            except DeployError as error:
                heard.error = str(error)
        return self._heard

    def _ask(self, node: Node) -> dict[str, Listed]:
        client = NodeClient(node, timeout=(self._limits.connect, self._limits.answer))
        return listed(client.all_jobs())


def listed(answer: Mapping[str, Any]) -> dict[str, Listed]:
    """The answer of listjobs.json by job; one that is listed twice is where it is most alive."""
    return {
        entry["id"]: Listed(
            entry["id"], state, entry["spider"], entry.get("project") or "", hears=bool(entry.get("log_url"))
        )
        for state in ("finished", "pending", "running")
        for entry in answer[state]
    }


def read_statuses(client: redis.Redis, wanted: Mapping[str, Wanted], names: set[str]) -> dict[str, CrawlStatus]:
    """How the frontier of each crawl in ``names`` stands.

    Raises:
        ConnectError: Redis does not answer.
        DeployError: Redis refuses.
    """
    try:
        with spoken():
            return {name: crawl_status(client, crawl.spec.namespace) for name, crawl in wanted.items() if name in names}
    except FrontierUnavailable as error:
        raise ConnectError(str(error)) from error
    except FrontierError as error:
        raise DeployError(str(error)) from error
