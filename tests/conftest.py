"""Real servers as fixtures; nobody's own server is ever used, whatever REDIS_URL and MONGO_URI say.

======================  =========  ==========================================================================
``redis_url``           session    a Redis without append-only file, behind a password
``redis_client``        function   a client of it; its database is empty before each test
``mongo_uri``           session    a MongoDB behind a password, whose user is root
``mongo_client``        session    a client of it
``mongo_db``            function   a database of the test's own, dropped afterwards
``stack``               session    a whole stack: Redis, MongoDB and two Scrapyd nodes
``python_doc``          function   seeds of a real site: Debian's python3-doc on two loopback addresses
``server_directory``    function   an empty directory for servers that a test starts itself
======================  =========  ==========================================================================
"""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import redis
from pymongo import MongoClient

from deploy.errors import DeployError
from deploy.local import binaries
from deploy.local.mongo_server import MongoServer
from deploy.local.redis_server import RedisServer
from deploy.local.stack import Stack
from tests.python_doc import served
from tests.servers import guarded, working_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pymongo.database import Database

    from deploy.local.info import StackInfo
    from deploy.local.server import Server

# A shell that starts a program in the background lets it ignore Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: The operator's variables, which must reach no server and no worker of the tests.
FOREIGN = ("REDIS_URL", "MONGO_URI", "MONGO_DATABASE")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests go first, so that none of them is left to one worker at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session", autouse=True)
def _no_foreign_servers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def servers_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where all servers of the tests live; what a test forgot to stop fails the session."""
    root = tmp_path_factory.mktemp("servers").resolve()
    with guarded(root):
        yield root
        left = [" ".join(process.cmdline()) for process in working_below(root)]
    shutil.rmtree(root, ignore_errors=True)  # a fresh MongoDB is 100 MB, and pytest keeps three sessions
    assert not left, f"tests left servers running: {left}"


@pytest.fixture
def server_directory(servers_root: Path) -> Iterator[Path]:
    """An empty directory for servers that a test starts itself, and stops."""
    directory = servers_root / uuid.uuid4().hex
    directory.mkdir(mode=0o700)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_url(servers_root: Path) -> Iterator[str]:
    """The URL of a Redis, with its password."""
    _require(binaries.redis_server)
    with _running(RedisServer(servers_root / "redis", options={"appendonly": "no"})) as server:
        yield server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of an empty Redis, which answers bytes."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
        yield client


@pytest.fixture(scope="session")
def mongo_uri(servers_root: Path) -> Iterator[str]:
    """The URI of a MongoDB, with user and password."""
    _require(binaries.mongod)
    with _running(MongoServer(servers_root / "mongo", roles=["root"])) as server:
        yield server.url


@pytest.fixture(scope="session")
def mongo_client(mongo_uri: str) -> Iterator[MongoClient[dict[str, Any]]]:
    """A client of the MongoDB; its datetimes are aware."""
    with MongoClient(mongo_uri, tz_aware=True) as client:
        yield client


@pytest.fixture
def mongo_db(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[Database[dict[str, Any]]]:
    """A database that no other test sees (``mongo_db.name`` for MONGO_DATABASE)."""
    name = f"test_{uuid.uuid4().hex}"
    yield mongo_client[name]
    mongo_client.drop_database(name)


@pytest.fixture(scope="session")
def stack(servers_root: Path) -> Iterator[StackInfo]:
    """A whole stack with two nodes, no egg on them yet."""
    _require(binaries.redis_server)
    _require(binaries.mongod)
    stack = Stack(servers_root / "stack", nodes=2)
    try:
        yield stack.up()
    finally:
        stack.down()


@contextmanager
def _running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _require(find: Callable[[], Path]) -> None:
    """Skip without the program on a laptop, fail without it where CI=true."""
    try:
        find()
    except DeployError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture
def python_doc() -> Iterator[list[str]]:
    """Seeds of a real documentation site, served on two loopback addresses."""
    with served() as seeds:
        yield seeds
