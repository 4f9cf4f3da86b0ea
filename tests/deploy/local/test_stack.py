"""The whole stack, as its users see it: up, status, down."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil
import pytest
import redis
from pymongo import MongoClient

from deploy.errors import ConnectError, DeployError
from deploy.local.info import StackInfo
from deploy.local.mongo_server import check_mongo
from deploy.local.redis_server import check_redis
from deploy.local.stack import Stack
from tests.servers import working_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def directory(servers_root: Path) -> Iterator[Path]:
    """Of one stack for all tests here, each of which leaves it running with one node."""
    directory = servers_root / "test_stack" / ".local"
    yield directory
    Stack(directory, environ={}).down()


@pytest.fixture(scope="module")
def info(directory: Path) -> StackInfo:
    return Stack(directory, nodes=1, environ={}).up()


def states(directory: Path) -> dict[str, str]:
    return {status.name: status.state for status in Stack(directory).status()}


def test_up_gives_servers_that_answer(info: StackInfo, directory: Path) -> None:
    with redis.Redis.from_url(info.redis_url) as client:
        assert client.config_get("appendonly") == {"appendonly": "yes"}
    with MongoClient(info.mongo_uri) as mongo:
        mongo["any"]["thing"].insert_one({"a": 1})
    assert states(directory) == {"redis": "running", "mongo": "running", "node1": "running"}
    assert StackInfo.load(directory) == info


def test_a_node_asks_for_its_password(info: StackInfo) -> None:
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"{info.nodes[0].url}daemonstatus.json")


def test_no_secret_is_open_to_others(info: StackInfo, directory: Path, run_job: Callable[..., dict[str, Any]]) -> None:
    run_job(info.nodes[0])

    everything = [directory, *directory.rglob("*")]
    assert [path for path in everything if stat.S_IMODE(path.lstat().st_mode) & 0o077] == []

    processes = working_below(directory)
    assert len(processes) == 4  # Redis, MongoDB, Scrapyd and the job
    places = [" ".join(process.cmdline()) for process in processes]
    places += [log.read_text() for log in directory.rglob("*.log")]
    places += [repr(info), repr(Stack(directory).status())]
    redis_password, mongo_password = (urlsplit(url).password for url in (info.redis_url, info.mongo_uri))
    assert redis_password
    assert mongo_password
    for secret in (redis_password, mongo_password, info.nodes[0].password):
        assert [place for place in places if secret in place] == []


def test_the_environment_file_can_be_sourced_by_sh(info: StackInfo, directory: Path) -> None:
    script = '. "$0/env" && echo "$REDIS_URL $MONGO_URI $NODE1_URL $NODE1_USERNAME $NODE1_PASSWORD"'
    node = info.nodes[0]
    said = subprocess.check_output(["sh", "-c", script, directory], text=True)
    assert said.split() == [info.redis_url, info.mongo_uri, node.url, node.username, node.password]


def test_up_again_keeps_what_runs(info: StackInfo, directory: Path) -> None:
    assert Stack(directory, environ={}).up() == info


def test_an_environment_sourced_before_a_port_moved_names_no_server_of_the_user(
    info: StackInfo, directory: Path
) -> None:
    before = {"REDIS_URL": info.redis_url.replace(str(urlsplit(info.redis_url).port), "1")}
    assert Stack(directory, environ=before).up() == info


def test_a_killed_redis_comes_back_with_its_data(info: StackInfo, directory: Path) -> None:
    with redis.Redis.from_url(info.redis_url) as client:
        client.set("kept", "yes")
        os.kill(client.info()["process_id"], signal.SIGKILL)

    assert Stack(directory, environ={}).up() == info  # and the node was kept

    with redis.Redis.from_url(info.redis_url) as client:
        assert client.get("kept") == b"yes"


def test_the_number_of_nodes_grows_and_shrinks(info: StackInfo, directory: Path) -> None:
    grown = Stack(directory, nodes=2, environ={}).up()
    assert grown.nodes[0] == info.nodes[0]
    assert states(directory)["node2"] == "running"
    assert "NODE2_URL" in (directory / "env").read_text()

    assert Stack(directory, nodes=1, environ={}).up() == info
    assert working_below(directory / "node2") == []
    assert "NODE2_URL" not in (directory / "env").read_text()


def test_down_ends_everything_and_two_ups_at_once_bring_the_same_back_once(
    info: StackInfo, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MongoClient(info.mongo_uri) as mongo:
        mongo["any"]["kept"].insert_one({"a": 1})

    assert Stack(directory, environ={}).down()
    assert states(directory) == {"redis": "stopped", "mongo": "stopped", "node1": "stopped"}
    assert working_below(directory) == []

    # After `. .local/env` these variables name the stack's own servers, which are not the user's therefore.
    ups = [Stack(directory, nodes=1, environ=info.environment).up for _ in range(2)]
    with caplog.at_level(logging.INFO, logger="deploy.local"), ThreadPoolExecutor() as pool:
        first, second = [future.result() for future in [pool.submit(up) for up in ups]]
    assert first == second
    assert first.environment == info.environment
    assert [caplog.text.count(f"{name} started") for name in ("redis", "mongo", "node1")] == [1, 1, 1]
    with MongoClient(info.mongo_uri) as mongo:
        assert mongo["any"]["kept"].count_documents({}) == 1


def test_servers_named_by_the_user_are_used_and_left_alone(
    server_directory: Path, redis_url: str, mongo_uri: str
) -> None:
    environ = {"REDIS_URL": redis_url, "MONGO_URI": mongo_uri, "MONGO_DATABASE": "mine"}
    stack = Stack(server_directory, nodes=1, environ=environ)
    try:
        info = stack.up()
        assert (info.redis_url, info.mongo_uri) == (redis_url, mongo_uri)
        assert states(server_directory) == {"redis": "yours", "mongo": "yours", "node1": "running"}
        node = psutil.Process(info.nodes[0].pid).environ()
        assert {name: node[name] for name in environ} == environ
    finally:
        stack.down()
    check_redis(redis_url)
    check_mongo(mongo_uri)
    assert not (server_directory / "redis").exists()


def test_a_server_named_by_the_user_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    environ = {
        "REDIS_URL": "redis://:topsecret@127.0.0.1:1/0",
        "MONGO_URI": "mongodb://u:topsecret@127.0.0.1:x/",
    }
    with pytest.raises(ConnectError, match=r"Redis at redis://\*\*\*@127.0.0.1:1/0 does not answer") as caught:
        Stack(tmp_path, nodes=1, environ=environ).up()
    assert "MongoDB at mongodb://***@127.0.0.1:x/" in str(caught.value)
    assert "topsecret" not in str(caught.value)


def test_nothing_is_started_on_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match=r"is full: .* MiB free"):
        Stack(tmp_path, environ={}, min_free_bytes=1 << 60).up()
    assert working_below(tmp_path) == []


def test_down_where_there_is_no_stack_does_nothing(tmp_path: Path) -> None:
    assert not Stack(tmp_path / "none").down()
    assert Stack(tmp_path / "none").status() == []
