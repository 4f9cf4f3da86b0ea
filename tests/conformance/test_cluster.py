"""Redis Cluster of three nodes: every script runs there when the namespace is a hash tag (F15)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import redis
from redis.cluster import RedisCluster

from deploy.local.processes import LOOPBACK, free_port
from deploy.local.redis_server import RedisServer
from spiders_project.errors import FrontierError, FrontierUnavailable
from spiders_project.frontier.connection import async_client, blocking_client
from spiders_project.frontier.contract import (
    Ack,
    Ask,
    Batch,
    Bury,
    GiveBack,
    HostLimits,
    Left,
    Pause,
    Refuse,
    SeedVerdict,
)
from spiders_project.frontier.heartbeat import Heartbeat
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl
from spiders_project.frontier.redis_frontier import RedisFrontier
from spiders_project.jobs import store
from spiders_project.keys import Keys
from tests.conformance.world import put, terms_of
from tests.storage.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOTS = 16384
NODES = 3


@pytest.fixture(scope="module")
def cluster(servers_root: Path) -> Iterator[dict[str, Any]]:
    """Settings of a worker on a cluster of three nodes."""
    nodes = []
    try:
        for number in range(NODES):
            options = {"appendonly": "no", "cluster-enabled": "yes", "cluster-port": str(free_port())}
            node = RedisServer(servers_root / f"cluster-{number}", name=f"cluster-{number}", options=options)
            nodes.append((node, options["cluster-port"]))
            node.start()
        clients = [redis.Redis.from_url(node.url) for node, _ in nodes]
        for number, client in enumerate(clients):
            first, last = number * SLOTS // NODES, (number + 1) * SLOTS // NODES - 1
            client.execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            node, port = nodes[0]
            client.execute_command("CLUSTER MEET", LOOPBACK, node.port, port)
            client.config_set("requirepass", node.password)  # one password opens all nodes
        wait_for(lambda: all(client.cluster("info")["cluster_state"] == "ok" for client in clients), "the cluster")
        for client in clients:
            client.close()
        node, _ = nodes[0]
        yield {"REDIS_URL": node.url, "REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"}}
    finally:
        for node, _ in nodes:
            node.stop()


def test_a_whole_crawl_runs_on_a_cluster(cluster: dict[str, Any]):
    # F15: with RedisCluster, every pop failed.
    keys = Keys("{site}")
    terms = terms_of({"seeds_key": keys.start_urls, "limits": HostLimits(delay_ms=1, concurrency=9)})
    blocking: Any = blocking_client(cluster)
    assert isinstance(blocking, RedisCluster)
    blocking.rpush(keys.start_urls, "good", "bad")
    reaped: list[tuple[int, int, int]] = []
    heartbeat = Heartbeat(
        blocking,
        keys,
        "w",
        terms,
        lease_seconds=15,
        max_deliveries=3,
        report=lambda: b'{"version": "1"}',
        on_reaped=lambda *counts: reaped.append(counts),
    )

    async def crawl() -> None:
        frontier = RedisFrontier(async_client(cluster), keys, "w", terms)
        await frontier.ping()
        assert await frontier.start([put("a", 1), put("b", 2)])
        assert await frontier.peek_seeds(9) == [b"good", b"bad"]
        verdicts = [SeedVerdict(b"good", [put("c", 3)]), SeedVerdict(b"bad", rejected=b"{}")]
        assert await frontier.take_seeds(verdicts) == 1
        heartbeat._beat(1000.0)
        answer = await frontier.exchange(Batch(1, [put("a", 1), put("d", 4), put("e", 5)], want=9))
        assert answer.dropped == [0]
        ids = [claim.request_id for claim in answer.claims]
        assert len(ids) == 5
        (grant,) = await frontier.book([Ask("a", slot=True)])
        operations = [
            Left(grant.slot_id),
            Left(ids[0]),
            Ack(ids[0], 1),
            Bury(ids[1], b"{}"),
            GiveBack(ids[2]),
            Refuse(ids[3], b"{}", "1"),
            Pause("a", 10),
        ]
        answer = await frontier.exchange(Batch(2, operations))
        assert answer.open == 2
        assert await frontier.reconcile(["f" * 10, ids[4]]) == ["f" * 10]
        status = crawl_status(blocking, "{site}")
        assert (status.queued, status.leased, status.dead, status.rejected, status.seen) == (1, 1, 2, 1, 5)
        await frontier.leave()
        assert crawl_status(blocking, "{site}").queued == 2
        await frontier.close()

    asyncio.run(crawl())
    assert purge_crawl(blocking, "{site}") > 5
    assert [*blocking.scan_iter(match="*")] == []
    blocking.close()


def test_records_of_jobs_lie_on_any_node(cluster: dict[str, Any]):
    with blocking_client(cluster) as client:
        for number in range(6):
            store.write(client, f"j{number}", "running", {"node": "n"}, process="1@1", age=9.0 - number, keep_seconds=9)
        assert [one.id for one in store.newest(client)] == [f"j{number}" for number in (5, 4, 3, 2, 1, 0)]
        store.trim(client, 60, 2)
        assert [one.id for one in store.newest(client)] == ["j5", "j4"]
        store.trim(client, 60, 0)
        assert [*client.scan_iter(match="*")] == []


def test_a_namespace_without_a_hash_tag_is_refused_by_a_sentence(cluster: dict[str, Any]):
    async def crawl() -> None:
        frontier = RedisFrontier(async_client(cluster), Keys("site"), "w", terms_of({}))
        try:
            await frontier.exchange(Batch(1, [put("a", 1)], want=1))
        finally:
            await frontier.close()

    with pytest.raises(FrontierError, match="FRONTIER_NAMESPACE") as caught:
        asyncio.run(crawl())
    assert not isinstance(caught.value, FrontierUnavailable)
    with blocking_client(cluster) as client:
        assert [*client.scan_iter(match="*")] == [], "nothing is half done"
