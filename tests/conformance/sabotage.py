"""Frontiers that break one promise each: a pytest plugin by which the suite shows that it would notice.

``SABOTAGE=no_reaper pytest -p tests.conformance.sabotage tests/conformance``
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgpack

from spiders_project.frontier import redis_frontier, scripts
from spiders_project.frontier.contract import Put

if TYPE_CHECKING:
    from collections.abc import Callable

    from spiders_project.frontier.contract import Answer, Batch

PATCHES = {
    # A claim takes the request out of Redis, as a pop does.
    "no_lease": (
        "exchange",
        "return answer(claims, dropped, false)",
        """
        for _, one in ipairs(claims) do call('HDEL', k_requests, one[1]) end
        return answer(claims, dropped, false)
        """,
    ),
    # Nobody looks for dead workers.
    "no_reaper": ("heartbeat", "if patience > 0 then", "if false then"),
}

MARK_LUA = """
local marks, known = cmsgpack.unpack(ARGV[4]), {}
for index, mark in ipairs(marks) do known[index] = not seen_add(mark) end
save()
seen_save()
return cmsgpack.pack(known)
"""


def _patched(source: Callable[[str], str], script: str, old: str, new: str) -> Callable[[str], str]:
    def patched(name: str) -> str:
        text = source(name)
        if name != script:
            return text
        assert old in text, f"the sabotage does not fit {script}.lua any more"
        return text.replace(old, new)

    return patched


def _with_mark(source: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: scripts.joined(*scripts.SHARED) + MARK_LUA if name == "mark" else source(name)


def _put_in_two_steps() -> None:
    """Mark first, queue afterwards: as scrapy-redis does."""
    one_step = redis_frontier.RedisFrontier.exchange

    async def two_steps(self: redis_frontier.RedisFrontier, batch: Batch) -> Answer:
        filtered = [one for one in batch.operations if isinstance(one, Put) and one.fingerprint and not one.force]
        marks = [redis_frontier._put(one)[3] for one in filtered]
        known: Any = await self._run("mark", redis_frontier.pack(marks))
        new = {one for one, is_known in zip(filtered, msgpack.unpackb(known), strict=True) if not is_known}
        operations = [
            replace(one, fingerprint=b"") if isinstance(one, Put) and one in new else one for one in batch.operations
        ]
        return await one_step(self, replace(batch, operations=operations))

    scripts.source = _with_mark(scripts.source)  # type: ignore[assignment]
    redis_frontier.RedisFrontier.exchange = two_steps  # type: ignore[method-assign]


def pytest_configure() -> None:
    variant = os.environ["SABOTAGE"]
    if variant in PATCHES:
        scripts.source = _patched(scripts.source, *PATCHES[variant])  # type: ignore[assignment]
    elif variant == "two_steps":
        _put_in_two_steps()
    else:
        assert variant == "none", variant
