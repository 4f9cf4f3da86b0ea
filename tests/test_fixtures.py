"""The fixtures' own promises: real servers, behind passwords, empty for each test, gone with pytest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from tests.servers import working_below

if TYPE_CHECKING:
    from pymongo.database import Database


@pytest.mark.parametrize("_time", [1, 2])
def test_redis_is_empty_for_each_test(redis_client: redis.Redis, _time: int) -> None:
    assert redis_client.dbsize() == 0
    redis_client.set("left", "over")


def test_redis_asks_for_its_password(redis_url: str) -> None:
    with (
        redis.Redis.from_url("redis://" + redis_url.partition("@")[2]) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


@pytest.mark.parametrize("_time", [1, 2])
def test_mongo_database_is_empty_for_each_test(mongo_db: Database[dict[str, Any]], _time: int) -> None:
    assert mongo_db.list_collection_names() == []
    mongo_db["left"].insert_one({"over": 1})


def test_mongo_asks_for_its_password(mongo_uri: str) -> None:
    with (
        MongoClient("mongodb://" + mongo_uri.partition("@")[2]) as client,
        pytest.raises(OperationFailure, match="requires authentication"),
    ):
        client.admin.command("listDatabases")


SESSION = """
import time, pathlib
def test_that_never_ends(redis_url, mongo_uri, servers_root):
    pathlib.Path({announcement!r}).write_text(str(servers_root))
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_session_that_is_ended(number: int, tmp_path: Path, servers_root: Path) -> None:
    announcement = tmp_path / "root"
    test = tmp_path / "test_session.py"
    test.write_text(SESSION.format(announcement=str(announcement)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "--rootdir", str(tmp_path)]
    command += ["-p", "no:cacheprovider", "-p", "no:asyncio", "--basetemp", str(tmp_path / "base"), str(test)]
    checkout = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, start_new_session=True) as session:
        _wait_until(lambda: announcement.exists() and announcement.read_text())
        root = Path(announcement.read_text())
        assert {process.name() for process in working_below(root)} >= {"redis-server", "mongod"}
        os.kill(session.pid, number)
    _wait_until(lambda: not working_below(root))


def _wait_until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
