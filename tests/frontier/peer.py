"""A worker of a crawl as the tests need it: it says and claims, one blocking call each."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

import redis.asyncio

from spiders_project.frontier import codec
from spiders_project.frontier.contract import Answer, Batch, Claim, Operation, Put, Terms
from spiders_project.frontier.crawl import Crawl
from spiders_project.frontier.redis_frontier import RedisFrontier
from spiders_project.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Result = TypeVar("Result")


def mark_of(url: str) -> bytes:
    return blake2b(url.encode(), digest_size=8).digest()


def put(url: str, **fields: object) -> Put:
    """A put of a request, marked by its URL."""
    host = url.split("/")[2]
    mark = b"" if fields.get("dont_filter") else mark_of(url)
    priority = fields.get("priority", 0)
    assert isinstance(priority, int)
    return Put(codec.encode({"url": url, **fields}), host, priority, mark)


def urls(claims: list[Claim] | tuple[Claim, ...]) -> list[str]:
    return [codec.decode(claim.payload)["url"] for claim in claims]


class Peer:
    """One worker."""

    def __init__(self, redis_url: str, crawl: Crawl, name: str = "node:job:1") -> None:
        self.name = name
        self._url = redis_url
        self._keys, self._terms = crawl.keys, crawl.terms
        self._sequence = 0

    def call(self, what: Callable[[RedisFrontier], Awaitable[Result]]) -> Result:
        async def run() -> Result:
            client = redis.asyncio.Redis.from_url(self._url)
            frontier = RedisFrontier(client, self._keys, self.name, self._terms)
            try:
                return await what(frontier)
            finally:
                await frontier.close()

        return asyncio.run(run())

    def exchange(self, *operations: Operation, want: int = 0) -> Answer:
        self._sequence += 1
        batch = Batch(self._sequence, operations, want)
        return self.call(lambda frontier: frontier.exchange(batch))

    def claim(self, want: int = 100) -> list[Claim]:
        return list(self.exchange(want=want).claims)


def crawl_of(client: redis.Redis, namespace: str = "site", terms: Terms | None = None) -> Crawl:
    seeds = f"{namespace}:start_urls"
    return Crawl(client, Keys(namespace, seeds), terms or Terms(seeds_key=seeds))
