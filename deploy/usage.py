"""Which versions the jobs of a node use: none of those is ever deleted.

A job imports modules of its egg as long as it runs, and a deleted egg breaks it in the middle. Scrapyd names the
version of a pending job only; a running one says it itself, at the beginning of its log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deploy.client import NodeClient

#: What ``spiders_project.addon`` logs.
_SAYS_VERSION = re.compile(r"This job runs version ([A-Za-z0-9_-]+)", re.ASCII)


@dataclass
class Usage:
    """The jobs of one node that use a version.

    Attributes:
        jobs: Ids of running and pending jobs, by the version that they run or will run.
        silent: Ids of running jobs that do not say which: they may use any.
    """

    jobs: dict[str, list[str]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)

    def of(self, version: str) -> list[str]:
        """The jobs that use ``version``, or may."""
        return [*self.jobs.get(version, ()), *self.silent]


def running_jobs(client: NodeClient, project: str) -> frozenset[str]:
    """Ids of what runs now: of a version that comes later, none of them uses anything. ``project`` must exist."""
    return frozenset(job["id"] for job in client.list_jobs(project)["running"])


def usage(client: NodeClient, project: str, held: Sequence[str], ignored: Collection[str] = ()) -> Usage:
    """What the jobs of ``project`` use of the versions ``held`` (in Scrapyd's order), but for those ``ignored``.

    Raises:
        NodeError: The node does not answer as it should.
    """
    found = Usage()
    jobs: dict[str, list[dict[str, Any]]] = client.list_jobs(project)
    for job in jobs["pending"]:
        # Scheduled without a version, it runs what is the newest by name when its turn comes: any will do, but one.
        if version := job.get("version") or (held[0] if len(held) == 1 else None):
            found.jobs.setdefault(version, []).append(job["id"])
    for job in jobs["running"]:
        if job["id"] in ignored:
            continue
        match = _SAYS_VERSION.search(client.log_head(job))
        if match:
            found.jobs.setdefault(match[1], []).append(job["id"])
        else:
            found.silent.append(job["id"])
    return found
