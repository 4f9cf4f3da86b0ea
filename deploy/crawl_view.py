"""A crawl as ``deploy status`` shows it: what is wanted, what the nodes and the heartbeats say, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deploy.crawls import Wanted, never_started
from deploy.supervisor.crawl_round import CRASH_LOOPING
from deploy.supervisor.judge import Beat, State, beat_of, judge
from deploy.supervisor.limits import Limits
from deploy.supervisor.observe import NodeView, NodeWatch, World, read_statuses
from deploy.supervisor.records import Seen, read_placed, read_seen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deploy.control import Control
    from deploy.fleet import CrawlSpec
    from deploy.supervisor.records import Placed
    from spiders_project.frontier.inspect import CrawlStatus


def look(control: Control, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Each crawl in ``names``, or all that were ever started or applied; documented in docs/cli.md.

    Raises:
        ConnectError: Redis does not answer.
    """
    wanted = control.crawls.all()
    chosen = sorted(wanted) if names is None else list(names)
    strangers = set(chosen) - set(wanted)
    for name in chosen:
        # A crawl that only curl ever started: it has a frontier, and nothing is wanted of it.
        wanted.setdefault(name, Wanted(name=name, spec=control.spec(name)[0].model_copy(update={"workers": 0})))
    watch = NodeWatch(control.nodes, Limits())
    try:
        heard = watch.look()
    finally:
        watch.close()
    placed, fleet = read_placed(control.client), control.fleet()
    world = World(
        now=control.crawls.now(),
        nodes={name: NodeView(name, fleet.node(name), jobs=one.jobs, error=one.error) for name, one in heard.items()},
        wanted=wanted,
        placed=placed,
        seen=read_seen(control.client),
        statuses=read_statuses(control.client, wanted, set(chosen)),
    )
    views = [_view(name, world) for name in chosen]
    for view in views:
        if view["crawl"] in strangers and not view["running"] and world.statuses[view["crawl"]].state == "none":
            view["problems"].append(never_started(view["crawl"]))
        if view["failures"]:
            last = view["failures"][-1]
            view["last_error"] = control.last_error(last["job"], last["node"]) or None
    return views


def _view(name: str, world: World) -> dict[str, Any]:
    wanted, status = world.wanted[name], world.statuses[name]
    jobs = [_job(job, world) for job in world.placed.values() if job.crawl == name]
    foreign = _foreign(name, wanted.spec, world)
    nodes: dict[str, int] = {}
    for job in (*jobs, *foreign):
        if job["running"]:
            nodes[job["node"]] = nodes.get(job["node"], 0) + 1
    seen = world.seen.get(name) or Seen()
    unreachable = {node.name: node.error for node in world.nodes.values() if node.error}
    return {
        "crawl": name,
        "spider": wanted.spec.spider,
        "state": wanted.state,
        "outcome": wanted.outcome or None,
        "wanted": wanted.spec.workers if wanted.state == "up" else 0,
        "running": sum(nodes.values()),
        "starting": sum(job["state"] in {"starting", "pending"} for job in (*jobs, *foreign)),
        "nodes": dict(sorted(nodes.items())),
        **_progress(wanted, status),
        "crash_looping": any(text.startswith(CRASH_LOOPING) for text in (wanted.reason, *seen.problems)),
        "problems": [*_node_problems(unreachable), *(seen.problems if seen.run == wanted.run else [])],
        "failures": [failure.model_dump() for failure in seen.failures] if seen.run == wanted.run else [],
        "last_error": None,
        "jobs": jobs,
        "foreign": foreign,
        "unreachable": sorted(unreachable),
        "seen_at": seen.at or None,
    }


def _progress(wanted: Wanted, status: CrawlStatus) -> dict[str, Any]:
    """How far the frontier is; what it tells of a run before this one is not shown as this one's."""
    ours = status.state == "open" or (status.ended_at or 0) >= wanted.started_at
    reason = None
    if wanted.state == "idle" and wanted.outcome in {"failed", "stopped"}:
        reason = wanted.reason
    elif status.state == "finished" and ours:
        reason = status.finish_reason or "finished"
    elif wanted.state == "idle" and wanted.outcome:
        reason = wanted.reason
    left = status.seeds + status.open
    alive = [worker for worker in status.workers if worker.alive]
    rate = status.rate if ours else 0.0
    return {
        "version": sorted({worker.version for worker in alive if worker.version}),
        "queued": status.queued + status.delayed,
        "seeds": status.seeds,
        "in_flight": status.leased,
        "done": status.done if ours else 0,
        "pages": status.pages if ours else 0,
        "pages_per_second": round(status.pages / status.seconds, 2) if ours and status.seconds > 0 else 0.0,
        "items": _count(status, wanted, "items"),
        "errors": _count(status, wanted, "errors"),
        "dead_letters": status.dead,
        "rejected_seeds": status.rejected,
        "eta_seconds": round(left / rate) if left and rate else (0 if not left else None),
        "finish_reason": reason,
        "started_at": wanted.started_at or status.started_at,
        "ended_at": wanted.ended_at or (status.ended_at if ours else None),
    }


def _count(status: CrawlStatus, wanted: Wanted, name: str) -> int:
    """Over the workers of this run, those that have left among them."""
    since = wanted.started_at
    return sum(
        w.counts.get(name, 0) for w in status.workers if w.alive or not since or w.seen_at >= since or not w.seen_at
    )


def _job(job: Placed, world: World) -> dict[str, Any]:
    verdict, beat = judge(job, world, Limits()), beat_of(job, world)
    node = world.nodes.get(job.node)
    listed = node.jobs.get(job.id) if node and node.answers else None
    running = beat is Beat.ALIVE if listed is None else listed.state == "running" and verdict.state is not State.HUNG
    state = verdict.state.value
    if job.stop_at is not None and verdict.live:
        state = "ending"
    return {
        "job": job.id,
        "node": job.node,
        "state": state,
        "running": running,
        "version": job.version,
        "placed_at": job.at,
        "attempt": job.attempt,
        "why": job.why or verdict.why,
    }


def _foreign(name: str, spec: CrawlSpec, world: World) -> list[dict[str, Any]]:
    """The crawl's workers that nobody placed here: by curl, by ``deploy schedule``, by hand."""
    found: dict[str, dict[str, Any]] = {}
    for node in world.nodes.values():
        for job in node.jobs.values():
            if job.spider == spec.spider and job.state != "finished" and job.id not in world.placed and node.answers:
                running = job.state == "running"
                found[job.id] = {"job": job.id, "node": node.name, "state": job.state, "running": running}
    ended = {job.id for node in world.nodes.values() for job in node.jobs.values() if job.state == "finished"}
    for worker in world.statuses[name].workers:
        if worker.alive and worker.job not in world.placed and worker.job not in ended:
            known = found.get(worker.job, {"job": worker.job or worker.id, "node": worker.node})
            found[worker.job or worker.id] = {**known, "state": "running", "running": True}
    return list(found.values())


def _node_problems(unreachable: dict[str, str]) -> list[str]:
    return [f"unreachable: {error}" for _, error in sorted(unreachable.items())]
