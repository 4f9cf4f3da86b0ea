"""A storage that writes into a real MongoDB, and an event loop to use it in."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.storage import Storage
from tests.pipelines.deliveries import Settled


@pytest.fixture
def stats():
    return Counter()


@pytest.fixture
def settled():
    return Settled()


@pytest.fixture
def opened(mongo_uri, mongo_db, stats):
    """``async with opened(**options) as storage``."""

    @asynccontextmanager
    async def opened(spider="books", **options):
        options = {"uri": mongo_uri, "database": mongo_db.name, "flush_seconds": 0.05} | options
        storage = Storage(StorageOptions(**options), spider, lambda name, number: stats.update({name: number}))
        await storage.open()
        try:
            yield storage
        finally:
            assert await storage.close() == 0

    return opened


@pytest.fixture
def put(opened):
    """Store ``(item, origin)`` pairs as one worker would, and wait until they are stored."""

    def put(*pairs, **options):
        async def run():
            async with opened(**options) as storage:
                for item, origin in pairs:
                    await storage.put(item, origin)

        asyncio.run(run())

    return put
