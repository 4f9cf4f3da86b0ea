"""The verbs of crawls that run: ``stop``, ``scale``, ``restart``, ``wait``."""

from __future__ import annotations

import click

from deploy.control import Control
from deploy.crawls import never_started
from deploy.errors import CrawlError, DeployError, UsageError
from deploy.jobs import cancel, list_jobs
from deploy.output import say
from deploy.supervisor.limits import Limits
from deploy.supervisor.records import read_placed, read_seen
from deploy.verbs import json_option
from deploy.verbs.settling import ENDING_SECONDS, jobs_of, report, see_placed, settle
from deploy.version_names import check_version_name


@click.command("stop")
@click.argument("spider")
@click.option(
    "--wait", type=click.FloatRange(0), default=60.0, metavar="SECONDS", help="For pages to finish; default 60."
)
def stop_command(spider: str, wait: float) -> None:
    """End all workers of a crawl on all nodes, and see that they have ended.

    Also those that were started by curl. A worker finishes the pages in its hands, for at most --wait seconds, then
    drops them, then is killed. What it held goes back to the frontier. A crawl that comes after another one stays
    down when that one ends, until it is started.

    \b
    Example:
      python -m deploy stop site
    """
    control = Control.open()
    spec, _ = control.spec(spider)
    held = control.crawls.get(spider)
    if held:
        held = control.crawls.update(spider, lambda known: known.stopped(wait))
    jobs = [job.id for job in jobs_of(control, spider)]

    def ended() -> bool:
        now = control.crawls.get(spider)
        left = [job for job in jobs_of(control, spider) if not job.lost]
        return not left and (now is None or now.state != "down")

    if held and not settle(control, ended, wait + ENDING_SECONDS):
        left = jobs_of(control, spider)
        raise DeployError(
            f"{spider} is not wanted any more, and these have not ended: "
            f"{', '.join(f'{job.id} on {job.node}' for job in left)}; see `python -m deploy status {spider}`"
        )
    listed = list_jobs(control.nodes)
    spider_name = held.spec.spider if held else spec.spider
    ours = read_placed(control.client)
    others = [
        job
        for of_node in listed.done.values()
        for job in of_node
        if job.spider == spider_name and job.state != "finished" and job.id not in ours
    ]
    cancel(control.nodes, others, wait_seconds=wait).check()
    if not jobs and not others:
        say(f"no worker of {spider} runs")
    if held and held.spec.after:
        say(f"{spider} does not come after {held.spec.after.crawl} any more until `python -m deploy start {spider}`")
    for job in (*jobs, *(job.id for job in others)):
        say(f"ended {job}")
    for error in listed.failed.values():
        say(f"what runs there is not known: {error}")


@click.command("scale")
@click.argument("spider")
@click.argument("workers", type=click.IntRange(0))
@json_option
def scale_command(spider: str, workers: int, as_json: bool) -> None:
    """Let a crawl have WORKERS workers; those that are too many end cleanly.

    \b
    Example:
      python -m deploy scale site 8
    """
    control = Control.open()
    wanted = control.crawls.update(spider, lambda held: held.scaled(workers))
    if wanted.state != "up":
        say(f"{spider} does not run; it will have {workers} workers when it starts")
        return

    def done() -> bool:
        mine = [job for job in jobs_of(control, spider) if not job.lost]
        seen = read_seen(control.client).get(spider)
        going = [job for job in mine if job.stop_at is None]
        short = len(seen.vacancies) + seen.given_up if seen else 0
        return len(going) == len(mine) and len(going) + short == workers

    if not settle(control, done, Limits().stop + ENDING_SECONDS):
        raise DeployError(f"{spider} is not yet as wanted; see `python -m deploy status {spider}`")
    report(control, wanted, as_json=as_json)


@click.command("restart")
@click.argument("spider")
@click.option("--version", metavar="V", help="Run this version from now on; default: as before, or the released one.")
@json_option
def restart_command(spider: str, version: str | None, as_json: bool) -> None:
    """End the workers of a crawl and start others in their place; its frontier goes on.

    \b
    Example:
      python -m deploy restart site
    """
    control = Control.open()
    if version:
        check_version_name(version)
    now = control.crawls.now()
    change = {} if version is None else {"version": version}
    wanted = control.crawls.update(spider, lambda held: held.started(now, seeded=held.run + 1, **change))

    see_placed(control, wanted)
    report(control, wanted, as_json=as_json)


@click.command("wait")
@click.argument("spider")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Give up after so long; default never.")
def wait_command(spider: str, timeout: float | None) -> None:
    """Wait until a crawl's run has ended; the exit code is 0 only when it is done.

    \b
    Example:
      python -m deploy wait site --timeout 3600
    """
    control = Control.open()
    if control.crawls.get(spider) is None:
        raise UsageError(never_started(spider))

    def ended() -> bool:
        held = control.crawls.get(spider)
        return held is None or held.state == "idle"

    if not settle(control, ended, float("inf") if timeout is None else timeout):
        raise DeployError(f"{spider} has not ended within {timeout:g} s")
    held = control.crawls.get(spider)
    if held is None or held.outcome != "done":
        raise CrawlError(f"{spider}: {held.reason if held and held.reason else 'it was never started'}")
    say(f"{spider}: {held.reason}")
