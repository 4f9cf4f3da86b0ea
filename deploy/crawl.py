"""One crawl from its egg to its end, on the nodes it is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deploy.claims import claimed
from deploy.client import NodeClient
from deploy.egg import build_egg
from deploy.errors import CrawlError, DeployError
from deploy.fanout import fan_out
from deploy.jobs import Job, cancel, new_jobs, schedule
from deploy.release import release
from deploy.released import record
from deploy.seed import push_seeds
from deploy.version_names import new_version
from deploy.withdrawals import Withdrawals
from spiders_project.errors import FrontierError
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import redis

    from deploy.targets import Node

#: Workers end themselves this many seconds after the crawl has nothing left to do.
IDLE_SECONDS = 3
_CANCEL_SECONDS = 60


@dataclass(frozen=True)
class Plan:
    """What to crawl, and where.

    Attributes:
        spider: Its name; also the crawl's namespace in Redis.
        seeds: The first URLs.
        nodes: One job runs on each.
        arguments: Spider arguments.
        settings: Scrapy settings of these jobs alone.
        fresh: Forget what earlier crawls have seen.
    """

    spider: str
    seeds: tuple[str, ...]
    nodes: tuple[Node, ...]
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    fresh: bool = True


def prepare(plan: Plan, root: Path, client: redis.Redis, say: Callable[[str], None]) -> str:
    """Clear the frontier, build one egg and push it to every node; the version's name.

    Raises:
        CrawlError: Workers of this crawl are alive, so that it cannot begin anew.
        EggError, DeployError: The egg cannot be built, or a node does not take it.
    """
    try:
        _clear(plan, client, say)
    except FrontierError as error:
        raise CrawlError(str(error)) from error
    version = new_version(root)
    with claimed(client, plan.nodes[0].project, version):
        say(f"building the egg, version {version}")
        egg = build_egg(root)
        say(f"pushing it ({len(egg) / 1000:.0f} kB) to {', '.join(node.name for node in plan.nodes)}")
        release(plan.nodes, egg, version, Withdrawals.of(root, client)).check()
    record(root, plan.nodes[0].project, version, egg)
    return version


def _clear(plan: Plan, client: redis.Redis, say: Callable[[str], None]) -> None:
    namespace = plan.spider
    if any(worker.alive for worker in crawl_status(client, namespace).workers):
        raise CrawlError(
            f"workers of {namespace} are alive: wait for their end, or `python -m deploy cancel --spider {plan.spider}`"
        )
    if plan.fresh:
        deleted = purge_crawl(client, namespace)
        if deleted:
            say(f"forgot the frontier of the last {namespace} crawl ({deleted} keys); --keep-data would keep it")


def start(plan: Plan, version: str, client: redis.Redis, say: Callable[[str], None]) -> list[Job]:
    """Schedule one job on each node and push the seeds; nothing runs on when anything fails.

    Raises:
        DeployError: A node took no job, or a seed was refused.
    """
    jobs = new_jobs(plan.nodes, plan.spider)
    try:
        schedule(plan.nodes, jobs, version=version, arguments=plan.arguments, settings=plan.settings).check()
        for job in jobs:
            say(f"scheduled {plan.spider} on {job.node}: job {job.id}")
        _seed(plan, client)
    except BaseException:
        stop(plan, jobs, say)
        raise
    say(f"seeded {plan.spider}:start_urls with {', '.join(plan.seeds)}")
    return jobs


def _seed(plan: Plan, client: redis.Redis) -> None:
    report = push_seeds(client, f"{plan.spider}:start_urls", plan.seeds)
    if report.refused:
        raise CrawlError("\n".join(f"{refusal.entry!r} is no seed: {refusal.reason}" for refusal in report.refused))


def stop(plan: Plan, jobs: list[Job], say: Callable[[str], None]) -> None:
    """Cancel the jobs and wait for their end; what cannot be stopped is said, not raised."""
    cancelled = cancel(plan.nodes, jobs, wait_seconds=_CANCEL_SECONDS)
    for error in cancelled.failed.values():
        say(f"not cancelled: {error}")


def last_words(nodes: tuple[Node, ...], jobs: list[Job], lines: int = 12) -> dict[str, str]:
    """The last lines of each job's log, by node: what a worker said before it ended."""

    def work(node: Node) -> str:
        client = NodeClient(node)
        ids = {job.id for job in jobs if job.node == node.name}
        answer = client.list_jobs(node.project)
        for entry in (*answer["finished"], *answer["running"]):
            if entry["id"] in ids:
                return "\n".join(client.job_log(entry).splitlines()[-lines:])
        raise DeployError(f"{node.name} lists none of the jobs any more")

    heard = fan_out(nodes, work)
    return {**heard.done, **{name: str(error) for name, error in heard.failed.items()}}
