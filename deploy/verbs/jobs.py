"""``schedule`` and ``cancel``."""

from __future__ import annotations

import click

from deploy.egg import project_root
from deploy.errors import DeployError, UsageError
from deploy.jobs import cancel, choose_version, list_jobs, new_jobs, parse_pairs, schedule
from deploy.output import print_json, print_table, say
from deploy.verbs import chosen_nodes, json_option, nodes_for_work, target_option
from deploy.version_names import check_version_name


@click.command("schedule")
@click.argument("spider")
@target_option
@click.option("-a", "arguments", multiple=True, metavar="NAME=VALUE", help="A spider argument; can be repeated.")
@click.option("-s", "settings", multiple=True, metavar="NAME=VALUE", help="A Scrapy setting; can be repeated.")
@click.option("--version", metavar="V", help="Run this version; default: the newest pushed one.")
@click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="Jobs on each node; default 1.")
@json_option
def schedule_command(
    *,
    spider: str,
    targets: tuple[str, ...],
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    version: str | None,
    workers: int,
    as_json: bool,
) -> None:
    """Start jobs of SPIDER on the nodes and print their ids.

    \b
    Examples:
      python -m deploy schedule site
      python -m deploy schedule site --workers 4 -a max_pages=500 -s LOG_LEVEL=INFO
      python -m deploy schedule site -t node1 --version 1796067188-cc98fa7e
    """
    nodes = nodes_for_work(targets)
    spider_arguments = parse_pairs(arguments, "-a")
    job_settings = parse_pairs(settings, "-s")
    if version is None:
        version = choose_version(project_root(), nodes)
    check_version_name(version)
    jobs = new_jobs(nodes, spider, workers)
    started = schedule(nodes, jobs, version=version, arguments=spider_arguments, settings=job_settings)
    if as_json:
        print_json({"version": version, "jobs": started.done})
    else:
        rows = [(node, job, version) for node, ids in started.done.items() for job in ids]
        print_table(("node", "job", "version"), rows)
    started.check()


@click.command("cancel")
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@target_option
@click.option("--spider", help="Every job of this spider.")
@click.option("--all", "every", is_flag=True, help="Every pending and running job.")
@click.option(
    "--wait", type=click.FloatRange(0), default=60.0, metavar="SECONDS", help="For pages to finish; default 60."
)
def cancel_command(
    jobs: tuple[str, ...], targets: tuple[str, ...], spider: str | None, every: bool, wait: float
) -> None:
    """Cancel jobs and wait until they have ended.

    A worker finishes the pages in its hands, for at most --wait seconds, then drops them, then is killed. What it
    held goes back to the frontier.

    \b
    Examples:
      python -m deploy cancel 5cf5b6a2a9ad11ef8d3f0242ac110002
      python -m deploy cancel --spider site
      python -m deploy cancel --all -t node2
    """
    if sum((bool(jobs), bool(spider), every)) != 1:
        raise UsageError("name the jobs, or --spider SPIDER, or --all")
    nodes = chosen_nodes(targets)
    listed = list_jobs(nodes)
    alive = [job for of_node in listed.done.values() for job in of_node if job.state != "finished"]
    chosen = [job for job in alive if every or job.id in jobs or job.spider == spider]
    if not chosen and not jobs:
        say("nothing to cancel")
    for job in chosen:
        say(f"cancelling {job.id} ({job.spider}, {job.state}) on {job.node}")
    cancelled = cancel(nodes, chosen, wait_seconds=wait)
    print_table(("node", "cancelled"), [(node, job) for node, ids in cancelled.done.items() for job in ids])
    cancelled.check()
    listed.check()
    if unknown := set(jobs) - {job.id for job in alive}:
        raise DeployError(f"neither pending nor running on any node: {', '.join(sorted(unknown))}")
