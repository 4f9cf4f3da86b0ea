"""Worlds in a few words: nodes that list jobs, workers that beat."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deploy.crawls import Wanted
from deploy.fleet import CrawlSpec, NodeSpec
from deploy.supervisor.decide import decide
from deploy.supervisor.limits import Limits
from deploy.supervisor.observe import Listed, NodeView, World
from deploy.supervisor.records import Placed, Seen, Vacancy
from spiders_project.frontier.inspect import CrawlStatus, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.supervisor.decision import Decision

NOW = 1000.0
LIMITS = Limits()


def node(name: str, *, capacity: int = 4, **fields: Any) -> NodeView:
    """``node("n1", running=["j1"], pending=["j2"], error="…")``; a job is an id, or (id, spider)."""
    spec = NodeSpec(capacity=capacity, labels=fields.pop("labels", frozenset()), weight=fields.pop("weight", 1.0))
    jobs = {}
    for state in ("pending", "running", "finished"):
        for entry in fields.pop(state, ()):
            job, spider = entry if isinstance(entry, tuple) else (entry, "s")
            jobs[job] = Listed(job, state, spider, hears=state == "running")
    return NodeView(name, spec, jobs=jobs, **fields)


def job(id_: str, node: str = "n1", *, crawl: str = "c", run: int = 1, at: float = NOW - 100, **fields: Any) -> Placed:
    running_at = fields.pop("running_at", at + 1)
    return Placed(id=id_, crawl=crawl, run=run, node=node, spider="s", at=at, running_at=running_at, **fields)


def wanted(name: str = "c", *, workers: int = 1, state: str = "up", **fields: Any) -> Wanted:
    of_spec = {key: fields.pop(key) for key in list(fields) if key in CrawlSpec.model_fields}
    spec = CrawlSpec(spider="s", workers=workers, **of_spec)
    return Wanted(name=name, spec=spec, state=state, **{"run": 1, "started_at": NOW - 500, **fields})


def worker(job: str, *, seen: float = NOW - 1, lease: float = 15.0) -> Worker:
    """``seen=0``: it has left, or was declared dead."""
    alive = bool(seen) and NOW - seen < lease * 2 / 3
    return Worker(f"w{job}", "n1", job, "v", alive, seen, 0, {}, lease=lease)


def status(*workers: Worker, state: str = "open", ended_at: float | None = None) -> CrawlStatus:
    ended = ended_at if ended_at is not None else (NOW - 1 if state == "finished" else None)
    reason = "finished" if state == "finished" else None
    counts = dict.fromkeys(("seeds", "rejected", "queued", "delayed", "leased", "dead", "seen", "done"), 0)
    return CrawlStatus(
        namespace="s",
        run_id="r",
        state=state,
        finish_reason=reason,
        started_at=NOW - 400,
        ended_at=ended,
        **counts,
        pages=0,
        workers=workers,
        at=NOW,
    )


def world(
    nodes: list[NodeView],
    crawls: list[Wanted],
    jobs: list[Placed] = (),
    *,
    statuses: Mapping[str, CrawlStatus] | None = None,
    beating: tuple[str, ...] = (),
    **fields: Any,
) -> World:
    """``beating``: jobs whose workers live; of the crawl ``c`` unless ``statuses`` says more."""
    return World(
        now=NOW,
        nodes={one.name: one for one in nodes},
        wanted={one.name: one for one in crawls},
        placed={one.id: one for one in jobs},
        statuses={"c": status(*map(worker, beating)), **(statuses or {})},
        **{"seen": {}, **fields},
    )


def decided(world: World, limits: Limits = LIMITS, **options: Any) -> Decision:
    numbers = itertools.count(1)
    return decide(world, limits, version=lambda: "v", new_id=lambda: f"new{next(numbers)}", **options)


def starts(decision: Decision) -> list[str]:
    """The nodes that get a worker, in their order."""
    return [placed.node for placed, _ in decision.starts]


def signals(decision: Decision) -> dict[str, str]:
    return {placed.id: signal for placed, signal in decision.signals}


def seen(*vacancies: Vacancy, **fields: Any) -> dict[str, Seen]:
    return {"c": Seen(**{"run": 1, "vacancies": list(vacancies), **fields})}


__all__ = ["LIMITS", "NOW", "Seen", "Vacancy", "replace"]
