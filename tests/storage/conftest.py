"""Crawls into a MongoDB, and a MongoDB of the test's own to be stopped, killed and started again."""

from __future__ import annotations

import pytest

from deploy.local.mongo_server import MongoServer
from tests.storage.crawls import Crawl, site


@pytest.fixture(scope="session")
def numbers():
    """The address of a site whose page ``/7`` says ``7``."""
    with site() as url:
        yield url


@pytest.fixture
def crawl(mongo_uri, mongo_db, tmp_path):
    """``with crawl(spider, **settings) as run``: into the shared MongoDB unless MONGO_URI says otherwise."""

    def crawl(spider, **settings):
        return Crawl(tmp_path, spider, **{"MONGO_URI": mongo_uri, "MONGO_DATABASE": mongo_db.name} | settings)

    return crawl


@pytest.fixture
def own_server(server_directory):
    """A running MongoDB whose user is root."""
    server = MongoServer(server_directory / "mongo", roles=["root"])
    server.start()
    yield server
    server.stop()
