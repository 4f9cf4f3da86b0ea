"""A crawl as it goes: read it every second, show it, and know when it has ended."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import redis
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from deploy.client import NodeClient
from deploy.errors import ConnectError
from deploy.fanout import fan_out
from deploy.output import say
from spiders_project.errors import FrontierError
from spiders_project.frontier.inspect import CrawlStatus, Worker, crawl_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deploy.crawl import Plan
    from deploy.jobs import Job
    from deploy.targets import Node

POLL_SECONDS = 1.0
PLAIN_LINE_SECONDS = 5.0
#: Speed is shown over this many seconds, so that it neither jumps nor lags.
_SPEED_WINDOW_SECONDS = 10.0
#: Workers of a finished crawl close by themselves; after this long they are no longer waited for.
_CLOSING_SECONDS = 60.0
#: A node that has been silent for so long, with no heartbeat of a worker of its own, is believed to run nothing.
_SILENCE_SECONDS = 60.0


@dataclass
class Watched:
    """What has been seen of a crawl so far.

    Attributes:
        status: The last reading, or None before the first.
        workers: The last report of every worker of this crawl, by its job's id; reports outlive their worker here.
        ended: No job runs any more.
        lingering: Jobs that were still there when the watch ended.
    """

    status: CrawlStatus | None = None
    workers: dict[str, Worker] = field(default_factory=dict)
    ended: bool = False
    lingering: set[str] = field(default_factory=set)

    def count(self, name: str, job: str | None = None) -> int:
        """The sum of one of the workers' counts, over all jobs or for one."""
        return sum(w.counts.get(name, 0) for key, w in self.workers.items() if job in {None, key})

    @property
    def pages(self) -> int:
        """Pages that have stored something."""
        return self.status.pages if self.status else 0


def watch(plan: Plan, jobs: list[Job], client: redis.Redis, *, poll_seconds: float = POLL_SECONDS) -> Watched:
    """Show the crawl until its jobs have ended; what was seen, with a last reading after their end.

    Redis or a node that is away for a while is said and waited for.
    """
    watched = Watched()
    ids = {job.id for job in jobs}
    running = _Running(plan.nodes, jobs)
    finished_since: float | None = None
    with _display() as show:
        while True:
            # The jobs first: a reading after the last job's end has its last counts in it.
            alive = running.ids()
            try:
                status = crawl_status(client, plan.spider)
            except (redis.RedisError, FrontierError) as error:
                if not alive:
                    raise ConnectError(f"all workers have ended, and how is not known: {error}") from error
                show(watched, f"Redis does not answer, waiting: {error}")
                time.sleep(poll_seconds)
                continue
            watched.status = status
            watched.workers |= {worker.job: worker for worker in status.workers if worker.job in ids}
            beating = {worker.job for worker in status.workers if worker.alive and worker.job in ids}
            if not alive | beating:
                watched.ended = True
                return watched
            if status.state == "finished":
                finished_since = finished_since or time.monotonic()
                if time.monotonic() - finished_since > _CLOSING_SECONDS:
                    watched.lingering = alive | beating
                    return watched
            else:
                finished_since = None
            show(watched, running.complaint)
            time.sleep(poll_seconds)


class _Running:
    """Which of the jobs have not ended, by what their nodes say."""

    def __init__(self, nodes: Sequence[Node], jobs: Sequence[Job]) -> None:
        self._nodes = nodes
        self._jobs = {node.name: {job.id for job in jobs if job.node == node.name} for node in nodes}
        self._heard = dict.fromkeys(self._jobs, time.monotonic())
        self._alive = {node: set(ids) for node, ids in self._jobs.items()}
        self.complaint: str | None = None

    def ids(self) -> set[str]:
        """Ask the nodes; one that does not answer is believed to run on what it ran, for a while."""
        answers = fan_out(self._nodes, self._ask)
        self._alive |= answers.done
        self._heard |= dict.fromkeys(answers.done, time.monotonic())
        self.complaint = "; ".join(map(str, answers.failed.values())) or None
        for node, heard in self._heard.items():
            if time.monotonic() - heard > _SILENCE_SECONDS:
                self._alive[node] = set()
        return set().union(*self._alive.values())

    def _ask(self, node: Node) -> set[str]:
        answer = NodeClient(node, timeout=(3.0, 10.0)).list_jobs(node.project)
        return {entry["id"] for state in ("pending", "running") for entry in answer[state]} & self._jobs[node.name]


@contextmanager
def _display() -> Iterator[Callable[[Watched, str | None], None]]:
    """A live line on a terminal; elsewhere a plain line every few seconds. Both on stderr."""
    speed = _Speed()
    if sys.stdout.isatty() and sys.stderr.isatty():
        spinner = Spinner("dots")
        with Live(spinner, console=Console(stderr=True), refresh_per_second=8, transient=True):
            yield lambda watched, note: spinner.update(text=_line(watched, speed, note))
        return
    last = -PLAIN_LINE_SECONDS

    def show(watched: Watched, note: str | None) -> None:
        nonlocal last
        text = _line(watched, speed, note)
        if time.monotonic() - last >= PLAIN_LINE_SECONDS:
            last = time.monotonic()
            say(text)

    yield show


def _line(watched: Watched, speed: _Speed, note: str | None) -> str:
    status = watched.status
    if note or status is None:
        return note or "waiting for the workers"
    waiting = status.seeds + status.open
    workers = sum(worker.alive for worker in status.workers)
    return (
        f"pages {watched.pages} · items {watched.count('items')} · queued {waiting} · "
        f"{speed.of(watched.pages):.1f} pages/s · workers {workers} · {elapsed(speed.seconds)}"
    )


def elapsed(seconds: float) -> str:
    """``1:02:03``, or ``2:03`` within the first hour."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


class _Speed:
    """Pages a second over the last seconds."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._readings: deque[tuple[float, int]] = deque([(self._began, 0)])

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def of(self, pages: int) -> float:
        now = time.monotonic()
        self._readings.append((now, pages))
        while len(self._readings) > 2 and now - self._readings[0][0] > _SPEED_WINDOW_SECONDS:  # noqa: PLR2004 - two points make a slope
            self._readings.popleft()
        then, before = self._readings[0]
        return max(0.0, (pages - before) / (now - then)) if now > then else 0.0
