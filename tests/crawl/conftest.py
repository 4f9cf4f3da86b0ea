from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from deploy.local.redis_server import RedisServer
from tests.crawl.crawl import Crawl, crawling
from tests.crawl.relay import Relay
from tests.crawl.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def stack_of_contexts() -> Iterator[ExitStack]:
    with ExitStack() as contexts:
        yield contexts


@pytest.fixture
def site(stack_of_contexts: ExitStack) -> Callable[..., Site]:
    """Makes sites: ``site(pages=300, latency=0.02)``."""
    return lambda *args, **options: stack_of_contexts.enter_context(Site(*args, **options).serving())


@pytest.fixture
def crawl(
    stack_of_contexts: ExitStack, server_directory: Path, redis_url: str, redis_client: Any
) -> Callable[..., Crawl]:
    """Makes a crawl on the shared Redis, which is empty: ``crawl(spider="tree", settings={…})``."""
    return lambda **options: stack_of_contexts.enter_context(
        crawling(server_directory, **{"redis_url": redis_url, **options})
    )


@pytest.fixture
def relay(redis_url: str) -> Iterator[Relay]:
    """A relay before the shared Redis."""
    with Relay(redis_url).serving() as relay:
        yield relay


@pytest.fixture
def own_redis(server_directory: Path) -> Iterator[RedisServer]:
    """A Redis of the test's own, safe against its own death: it may be stopped, killed, filled."""
    server = RedisServer(server_directory / "redis", options={"appendfsync": "always"})
    server.start()
    try:
        yield server
    finally:
        server.stop()
