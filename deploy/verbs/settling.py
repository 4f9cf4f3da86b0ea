"""What the verbs that change a crawl have in common: they see to it themselves where no supervisor acts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deploy.errors import DeployError
from deploy.output import print_json, print_table, say
from deploy.supervisor.lease import Lease
from deploy.supervisor.limits import Limits
from deploy.supervisor.records import read_placed, read_seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.control import Control
    from deploy.crawls import Wanted
    from deploy.supervisor.records import Placed

#: For a start: until the nodes have taken the jobs.
_PLACING_SECONDS = 30.0
#: For a stop, beyond the time that workers are given to finish their pages.
ENDING_SECONDS = 45.0


def see_placed(control: Control, wanted: Wanted) -> None:
    """Wait until a supervisor, or we where there is none, has placed what fits.

    Raises:
        DeployError: Nobody has within the time that it may take.
    """
    rounds: set[float] = set()

    def done() -> bool:
        seen = read_seen(control.client).get(wanted.name)
        old = any(job.run != wanted.run and not job.lost for job in jobs_of(control, wanted.name))
        if seen and seen.run >= wanted.run and seen.at >= wanted.started_at and not old:
            rounds.add(seen.at)
        return len(rounds) > 1  # what a node refuses is known in the second

    seconds = _PLACING_SECONDS + (Limits().stop + ENDING_SECONDS if wanted.run > 1 else 0)  # others end before
    if not settle(control, done, seconds):
        raise DeployError(
            f"{wanted.name} is wanted, and after {seconds:g} s it is not placed; "
            f"see `python -m deploy status {wanted.name}`"
        )


def jobs_of(control: Control, crawl: str) -> list[Placed]:
    """The jobs that were placed for a crawl and not forgotten."""
    return [job for job in read_placed(control.client).values() if job.crawl == crawl]


def settle(control: Control, done: Callable[[], bool], seconds: float) -> bool:
    """Wait for ``done()``; where no supervisor acts, be one meanwhile."""
    supervisor = control.supervisor(say, replace(Limits(), poll=0.5))
    try:
        return supervisor.settle(done, seconds)
    finally:
        supervisor.close()


def report(control: Control, wanted: Wanted, *, as_json: bool) -> None:
    """Print the jobs of a crawl, and say what is wrong with it.

    Raises:
        DeployError: No node took any.
    """
    jobs = [job for job in jobs_of(control, wanted.name) if job.stop_at is None and not job.lost]
    seen = read_seen(control.client).get(wanted.name)
    problems = seen.problems if seen else []
    if as_json:
        started = [{"job": job.id, "node": job.node, "version": job.version} for job in jobs]
        print_json({"crawl": wanted.name, "wanted": wanted.spec.workers, "jobs": started, "problems": problems})
    else:
        print_table(("node", "job", "version"), [(job.node, job.id, job.version) for job in jobs])
    if not Lease(control.client).holder():
        say(f"no supervisor runs: `python -m deploy supervise` would keep {wanted.name} up")
    for problem in problems:
        say(f"{wanted.name}: {problem}")
    failures = [failure for failure in seen.failures if failure.at >= wanted.started_at] if seen else []
    if failures and not jobs:
        raise DeployError("\n".join(f"{failure.node}: {failure.why}" for failure in failures))
