"""Two real Scrapyd nodes with an egg, and supervisors that are less patient than in life."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import redis

from deploy.cli import cli
from deploy.client import NodeClient
from deploy.crawls import Crawls
from deploy.egg import build_egg
from deploy.errors import DeployError
from deploy.fleet import CrawlSpec, Fleet
from deploy.local import processes
from deploy.local.scrapyd_node import ScrapydNode
from deploy.supervisor.limits import Limits
from deploy.supervisor.loop import Supervisor
from deploy.supervisor.records import read_placed, read_seen
from deploy.targets import Node
from spiders_project.frontier.inspect import crawl_status
from tests.deploy.conftest import ROOT, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = "1796000000-test"
#: The lease of the workers in these tests, in seconds.
LEASE = "3.5"
QUICK = Limits(
    poll=0.2,
    connect=2,
    answer=4,
    silence=3,
    begin=8,
    pending=3,
    appear=2,
    close=20,
    stop=6,
    drop=2,
    back_off=0.1,
    distrust=5,
    redis=1,
)


@dataclass
class Farm:
    """Two nodes, and what a test does with them."""

    servers: dict[str, ScrapydNode]
    redis_url: str
    client: redis.Redis
    events: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        return [
            Node(name, server.url, username=server.username, password=server.password)
            for name, server in self.servers.items()
        ]

    @property
    def crawls(self) -> Crawls:
        return Crawls(self.client)

    def start(self, name: str = "site", **fields):
        settings = {"FRONTIER_LEASE_SECONDS": LEASE, **fields.pop("settings", {})}
        spec = CrawlSpec(spider=fields.pop("spider", "site"), settings=settings, **fields)
        return self.crawls.start(name, spec)[0]

    @contextmanager
    def supervising(
        self,
        nodes: list[Node] | None = None,
        *,
        lease_seconds: float = 3,
        redis_url: str = "",
        fleet: Callable[[], Fleet] = Fleet,
        limits: Limits = QUICK,
        **wiring: Callable[..., Any],
    ) -> Iterator[Supervisor]:
        """A supervisor in a thread of its own."""
        stopped = threading.Event()
        with redis.Redis.from_url(redis_url or self.redis_url, socket_timeout=5) as client:
            supervisor = Supervisor(
                client,
                self.nodes if nodes is None else nodes,
                fleet=fleet,
                version=lambda: VERSION,
                say=lambda text: self.events.append(f"{time.monotonic() % 1000:.1f} {text}"),
                limits=limits,
                lease_seconds=lease_seconds,
                **wiring,
            )
            thread = threading.Thread(target=supervisor.run, args=[stopped])
            thread.start()
            try:
                yield supervisor
            finally:
                stopped.set()
                thread.join()
                supervisor.close()

    def beating(self, name: str = "site") -> dict[str, str]:
        """Job → node of the workers that live by their heartbeats."""
        return {one.job: one.node for one in crawl_status(self.client, name).workers if one.alive}

    def placed(self):
        return read_placed(self.client)

    def seen(self, name: str = "site"):
        return read_seen(self.client).get(name)

    def running(self, count: int, *, without: str = "", on: set[str] | None = None) -> dict[str, str]:
        """Job → node once exactly ``count`` placed workers live, ``without`` this job."""

        def settled():
            jobs = {job.id: job.node for job in self.placed().values() if job.stop_at is None and not job.lost}
            fits = len(jobs) == count and jobs.keys() <= self.beating().keys() and without not in jobs
            return jobs if fits and (on is None or set(jobs.values()) == on) else None

        return eventually(settled, 60)

    def process(self, job: str) -> psutil.Process:
        """The process of a job."""
        for server in self.servers.values():
            for process in server.jobs:
                with suppress(psutil.Error):
                    if f"_job={job}" in process.cmdline():
                        return process
        raise AssertionError(job)

    def kill(self, name: str) -> None:
        """A node dies with all that runs there."""
        server = self.servers[name]
        doomed = [server.process, *server.jobs]
        processes.kill(doomed)


@pytest.fixture(scope="session")
def farm_servers(servers_root, redis_url, mongo_uri):
    root = servers_root / "farm"
    settings = {"REDIS_URL": redis_url, "MONGO_URI": mongo_uri}
    servers = {name: ScrapydNode(root / name, name=name, settings=settings) for name in ("node1", "node2")}
    try:
        egg = build_egg(ROOT)
        for server in servers.values():
            server.start()
            node = Node(server.name, server.url, username=server.username, password=server.password)
            NodeClient(node).add_version(node.project, VERSION, egg)
            NodeClient(node).list_spiders(node.project, VERSION)
        yield servers
    finally:
        for server in servers.values():
            server.stop()


@pytest.fixture
def verb(farm, monkeypatch, tmp_path, capsys):
    """``verb("start", "site")``: what it prints, in a project whose nodes are the farm's."""
    for name in ("scrapy.cfg", "setup.py"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_URL", farm.redis_url)
    for node in farm.nodes:
        prefix = node.name.upper()
        monkeypatch.setenv(f"{prefix}_URL", node.url)
        monkeypatch.setenv(f"{prefix}_USERNAME", node.username)
        monkeypatch.setenv(f"{prefix}_PASSWORD", node.password)

    def call(*args: str):
        capsys.readouterr()
        cli.main(args, standalone_mode=False)
        return capsys.readouterr()

    return call


@pytest.fixture
def farm(farm_servers, redis_url, redis_client):
    """Two nodes that run nothing, over an empty Redis."""
    farm = Farm(farm_servers, redis_url, redis_client)
    for server in farm_servers.values():
        server.start()
    yield farm
    print(*farm.events, sep="\n")  # noqa: T201 - what pytest shows of a test that failed
    for server in farm_servers.values():
        processes.kill(server.jobs)
        with suppress(DeployError):
            node = next(node for node in farm.nodes if node.name == server.name)
            client = NodeClient(node)
            eventually(lambda client=client: not client.all_jobs()["running"] + client.all_jobs()["pending"], 20)
