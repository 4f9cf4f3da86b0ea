"""The other ways to run Redis: Sentinel with a fail-over, TLS, a user with few rights."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import redis
import redis.sentinel

from deploy.local.redis_server import RedisServer
from tests.crawl.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deploy.local.server import Server

pytestmark = pytest.mark.slow
PASSWORD = "of-the-whole-set"


@contextmanager
def running(server: Server) -> Iterator[Any]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Member(RedisServer):
    """A member of a replicated set: all have one password."""

    password = PASSWORD  # type: ignore[assignment]

    def __init__(self, directory: Path, name: str, **options: str) -> None:
        super().__init__(directory / name, name=name, options={"masterauth": PASSWORD, **options})


@contextmanager
def sentinel(directory: Path, master: RedisServer) -> Iterator[tuple[str, int]]:
    """One sentinel, which decides alone and within a second; gives its address."""
    directory.mkdir()
    config = directory / "sentinel.conf"
    with running(RedisServer(directory / "port", name="port")) as taken:
        port = taken.port  # free again in a moment
    config.write_text(
        f"port {port}\nbind 127.0.0.1\n"
        f"sentinel monitor mymaster 127.0.0.1 {master.port} 1\n"
        f"sentinel auth-pass mymaster {PASSWORD}\n"
        "sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n"
    )
    with subprocess.Popen(["redis-server", str(config), "--sentinel"], stdout=subprocess.DEVNULL) as process:
        try:
            yield "127.0.0.1", port
        finally:
            process.kill()


def url_of(server: RedisServer) -> str:
    return f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0"


def master_port(watch: redis.sentinel.Sentinel) -> int | None:
    try:
        return watch.discover_master("mymaster")[1]
    except redis.sentinel.MasterNotFoundError:
        return None


@pytest.mark.timeout(180)
def test_a_fail_over_by_sentinel_loses_no_page(site, crawl, server_directory):
    tree = site(200, hosts=4, latency=0.05)
    with (
        running(Member(server_directory, "master")) as master,
        running(
            Member(server_directory, "replica", replicaof=f"127.0.0.1 {master.port}", **{"replica-priority": "1"})
        ) as replica,
        sentinel(server_directory / "sentinel", master) as (host, port),
    ):
        watch = redis.sentinel.Sentinel([(host, port)])
        wait_for(lambda: watch.discover_slaves("mymaster"), 30, "the sentinel knows the replica")
        run = crawl(redis_url=url_of(master), admin_url=url_of(replica))
        redis.Redis.from_url(url_of(master)).rpush("tree:start_urls", tree.url(0))
        run.start(2, redis_url=f"redis://:{PASSWORD}@nowhere.invalid:1/0", REDIS_SENTINELS=f"{host}:{port}")
        run.wait_stored(40)
        master.stop()
        wait_for(lambda: master_port(watch) == replica.port, 30, "the replica is master")
        run.finish(90)
        assert set(run.stored) == tree.expected, run.describe()
        assert run.dead == []


def test_a_crawl_over_tls(site, crawl, server_directory):
    tree = site(40, hosts=2)
    key, certificate = server_directory / "key.pem", server_directory / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    with running(RedisServer(server_directory / "plain", name="plain")) as spare:
        tls_port = spare.port  # free again in a moment
    options = {
        "tls-port": str(tls_port), "tls-cert-file": str(certificate), "tls-key-file": str(key),
        "tls-ca-cert-file": str(certificate), "tls-auth-clients": "no",
    }  # fmt: skip
    with running(RedisServer(server_directory / "tls", name="tls", options=options)) as server:
        run = crawl(redis_url=server.url)
        run.seed(tree.url(0))
        url = f"rediss://:{server.password}@127.0.0.1:{tls_port}/0"
        run.start(1, redis_url=url, REDIS_PARAMS={"ssl_ca_certs": str(certificate)})
        run.finish()
        assert set(run.stored) == tree.expected, run.describe()


def test_a_user_who_may_only_touch_this_crawl(site, crawl, own_redis):
    """What docs/frontier.md tells an administrator to allow is enough."""
    tree = site(40, hosts=2)
    run = crawl(redis_url=own_redis.url)
    run.redis.acl_setuser(
        "crawler", enabled=True, passwords=["+few-rights"], keys=["tree:*"],
        categories=["+@read", "+@write", "+@scripting", "+@connection", "-@dangerous", "-@admin"],
        commands=["+time"],
    )  # fmt: skip
    run.seed(tree.url(0))
    run.start(2, redis_url=f"redis://crawler:few-rights@127.0.0.1:{own_redis.port}/0")
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
