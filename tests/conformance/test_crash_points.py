"""A worker that is killed between any two of its calls to Redis leaves nothing half done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from spiders_project.frontier.contract import Ack, Ask, Batch, HostLimits, SeedVerdict
from tests.conformance.test_machine import check
from tests.conformance.world import RedisWorld, Worker, put

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIMITS = HostLimits(concurrency=9)


class Killed(BaseException):
    """Like SIGKILL: nobody may catch it."""


def killed_after(world: RedisWorld, commands: int, call: Callable[[], Awaitable[Any]]) -> bool:
    """Make ``call``; its worker is dead when it has sent ``commands`` commands to Redis and sends another."""
    client: Any = world.async_client
    sent = 0
    send = client.execute_command

    async def execute_command(*arguments: Any, **options: Any) -> Any:
        nonlocal sent
        if sent == commands:
            raise Killed
        sent += 1
        return await send(*arguments, **options)

    client.execute_command = execute_command
    try:
        world.run(call())  # type: ignore[arg-type]
    except Killed:
        return True
    finally:
        del client.execute_command
    return False


def batch_of(worker: Worker) -> Batch:
    (claim,) = worker.say(put("a", 0), want=1).claims
    return Batch(2, [put("a", 1), put("b", 2), put("c", 3, delay_ms=5), Ack(claim.request_id, 1)], want=3)


@pytest.mark.parametrize("commands", range(6))
@pytest.mark.parametrize("what", ["exchange", "start", "take_seeds", "book", "reconcile", "leave"])
def test_a_killed_worker_leaves_a_consistent_frontier(redis_world: RedisWorld, what: str, commands: int):
    # F7: the seen mark and the queue entry were two calls; a crash between them lost the URL.
    redis_world.push_seeds(b"one", b"two")
    worker = redis_world.worker(limits=LIMITS)
    batch, frontier = batch_of(worker), worker.frontier
    verdicts = [SeedVerdict(b"one", [put("a", 1, force=True)]), SeedVerdict(b"two", [put("b", 2, force=True)])]
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "exchange": lambda: frontier.exchange(batch),
        "start": lambda: frontier.start([put("a", 1), put("b", 2)]),
        "take_seeds": lambda: frontier.take_seeds(verdicts),
        "book": lambda: frontier.book([Ask("a", slot=True), Ask("b")]),
        "reconcile": lambda: frontier.reconcile([]),
        "leave": frontier.leave,
    }
    killed_after(redis_world, commands, calls[what])
    facts = redis_world.facts()
    check(facts, redis_world.look(), {"limits": LIMITS})
    other = redis_world.worker("other", limits=LIMITS)
    other.say(put("a", 1), put("b", 2), put("c", 3))
    redis_world.advance(10)
    payloads = set(redis_world.facts().requests.values())
    assert {b"a/1", b"b/2", b"c/3"} <= payloads, "a page is marked as seen, and nobody will crawl it"
