"""What the verbs of the fleet share: the nodes, Redis, fleet.toml, and a supervisor that acts for one command."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import redis
from pydantic import ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy import records
from deploy.client import NodeClient
from deploy.crawls import Crawls, Wanted
from deploy.deaths import Deaths
from deploy.drains import drained
from deploy.egg import project_root
from deploy.environment import redis_url
from deploy.errors import DeployError, UsageError
from deploy.fanout import fan_out
from deploy.fleet import FLEET_FILE, CrawlSpec, Fleet, read_fleet, seeds_key
from deploy.output import say
from deploy.redis_errors import spoken
from deploy.released import newest_version
from deploy.seed import push_seeds
from deploy.settling import Settling
from deploy.supervisor.loop import Supervisor
from deploy.targets import read_targets
from deploy.timers.hook import timer_hook
from deploy.withdrawals import Withdrawals
from spiders_project.errors import ConfigError
from spiders_project.keys import Keys
from spiders_project.seeds.writer import read_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from deploy.supervisor.limits import Limits
    from deploy.supervisor.records import Placed
    from deploy.targets import Node

_REDIS_SECONDS = 5.0
_LOOK_TIMEOUT = (2.0, 5.0)
#: A version is looked up again after so many seconds.
_VERSION_SECONDS = 5.0


class Control:
    """The fleet as one command sees it.

    Args:
        root: The project.
        nodes: The nodes of scrapy.cfg.
        client: Of the fleet's Redis; it need not answer yet.
    """

    def __init__(self, root: Path, nodes: Sequence[Node], client: redis.Redis) -> None:
        self.root = root
        self.nodes = list(nodes)
        self.client = client
        self.crawls = Crawls(client)
        self._fleet: tuple[float, Fleet] | None = None
        self._version = ("", 0.0)

    @classmethod
    def open(cls) -> Control:
        """Of the project around the working directory; fleet.toml is read once, so that what is wrong there is said.

        Raises:
            UsageError: No project, no nodes, no address of Redis, or a fault in fleet.toml.
        """
        root = project_root()
        url = redis_url(root)
        nodes = read_targets()
        try:
            client = redis.Redis.from_url(
                url,
                socket_connect_timeout=_REDIS_SECONDS,
                socket_timeout=_REDIS_SECONDS,
                retry=Retry(NoBackoff(), 1),  # a connection that an outage cut; the supervisor's rounds do the rest
            )
        except ValueError as error:
            raise UsageError(f"REDIS_URL is no address of a Redis: {error}") from error
        control = cls(root, nodes, client)
        control.fleet()
        return control

    def fleet(self) -> Fleet:
        """fleet.toml as it is now; one that has become wrong meanwhile is said, and what was read before holds."""
        path = self.root / FLEET_FILE
        changed = path.stat().st_mtime if path.exists() else 0.0
        if self._fleet is None or self._fleet[0] != changed:
            try:
                self._fleet = changed, read_fleet(path).fleet([node.name for node in self.nodes])
            except UsageError as error:
                if self._fleet is None:
                    raise
                say(f"fleet.toml is left as it was read before: {error}")
                self._fleet = changed, self._fleet[1]
        return self._fleet[1]

    def version(self) -> str:
        """The newest released version on the nodes that answer; empty where there is none."""
        version, at = self._version
        if time.monotonic() - at > _VERSION_SECONDS or not version:
            held = fan_out(self.nodes, lambda node: NodeClient(node, _LOOK_TIMEOUT).list_versions(node.project))
            known = dict.fromkeys(one for versions in held.done.values() for one in versions)
            version = newest_version(self.root, self.nodes[0].project, known) or ""
            self._version = version, time.monotonic()
        return version

    def spec(self, name: str, **changes: Any) -> tuple[CrawlSpec, bool]:
        """How a crawl is to run: as fleet.toml says, or as the spider of that name, with ``changes``.

        Returns:
            The spec, and whether fleet.toml declares it.

        Raises:
            UsageError: Nothing can have that name, or its frontier that namespace.
        """
        declared = self.fleet().crawls.get(name)
        try:
            spec = declared or CrawlSpec(spider=name)
        except ValidationError as error:
            raise UsageError(f"{name!r} cannot be the name of a spider or a crawl") from error
        merged = {
            key: {**getattr(spec, key), **value} if isinstance(value, dict) else value
            for key, value in changes.items()
            if value is not None
        }
        spec = spec.model_copy(update=merged)
        try:
            Keys(spec.namespace)
        except ConfigError as error:
            raise UsageError(str(error)) from error
        return spec, declared is not None

    def check_spider(self, spider: str, version: str) -> None:
        """Refuse a spider that the version does not have, as the first node that answers says.

        Raises:
            UsageError: Names the spiders that there are.
            DeployError: No version, or no node answers.
        """
        version = version or self.version()
        errors: list[str] = []
        for node in self.nodes:
            try:
                known = NodeClient(node).list_spiders(node.project, version or None)
            except DeployError as error:
                errors.append(str(error))
                continue
            if spider not in known:
                raise UsageError(f"version {version} has no spider {spider!r}: it has {', '.join(known)}")
            return
        # Says it with the right exit code, and also where only the version is missing.
        fan_out(self.nodes, lambda node: NodeClient(node, _LOOK_TIMEOUT).daemon_status()).check()
        raise DeployError("\n".join(errors))

    def seed(self, wanted: Wanted) -> None:
        """Push the seeds of its file; an entry that is none is said and left out.

        Raises:
            DeployError: The file cannot be read, or Redis does not take them.
        """
        if not wanted.spec.seeds:
            return
        path = self.root / wanted.spec.seeds
        try:
            with path.open("rb") as file:
                report = push_seeds(self.client, seeds_key(wanted.spec), read_entries(file))
        except OSError as error:
            raise DeployError(f"{wanted.name}: the seeds {path} cannot be read: {error.strerror}") from error
        for refusal in report.refused:
            say(f"{wanted.name}: {path}, line {refusal.line} is no seed: {refusal.reason}")
        if report.refused_count > len(report.refused):
            say(f"{wanted.name}: {report.refused_count} entries of {path} in all are no seeds")

    def drained(self) -> set[str]:
        """The nodes that ``deploy drain`` keeps free of new work."""
        with spoken():
            return set(drained(self.client))

    def last_error(self, job: str, node: str) -> str:
        """What a job said last: its traceback, as it left it in Redis, else the end of its log; or nothing."""
        with records.spoken():
            record = records.get(self.client, job)
        if record and record.error:
            return record.error
        there = next((one for one in self.nodes if one.name == node), None)
        try:
            client = there and NodeClient(there, _LOOK_TIMEOUT)
            listed = client.all_jobs()["finished"] if client else []
            log = next((client.job_log(entry) for entry in listed if client and entry["id"] == job), "")
        except DeployError:
            return ""
        return records.last_traceback(log)

    def died(self, job: Placed, why: str) -> None:
        """Complete the record of a job that ended without a word."""
        with records.spoken():
            records.complete_as_died(
                self.client,
                job.id,
                node=job.node,
                spider=job.spider,
                version=job.version,
                reason=why,
                age=max(0.0, self.crawls.now() - job.at),
            )

    def tasks(self, say: Callable[[str], None]) -> list[Callable[[str], None]]:
        """What the acting supervisor does beside its crawls: timers, the records of the dead, withdrawals."""
        return [
            timer_hook(self.client, self.fleet, lambda token: Crawls(self.client, token), say),
            Deaths(self.client, self.nodes, say),
            Settling(self.nodes, Withdrawals.of(self.root, self.client)),
        ]

    def supervisor(
        self,
        say: Callable[[str], None],
        limits: Limits | None = None,
        also: Sequence[Callable[[str], None]] = (),
    ) -> Supervisor:
        """A supervisor of this fleet."""
        return Supervisor(
            self.client,
            self.nodes,
            fleet=self.fleet,
            version=self.version,
            seed=self.seed,
            drained=self.drained,
            died=self.died,
            say=say,
            limits=limits,
            also=also,
        )
