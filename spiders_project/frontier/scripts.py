"""The frontier's Lua scripts: read from the package (also inside an egg), run by hash."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from redis.exceptions import NoScriptError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis
    import redis.asyncio

    Argument = str | bytes | int | float


#: The functions that all scripts share, each file using those before it. Redis knows no modules, and one chunk of Lua
#: has room for 200 local names.
SHARED = ("_arguments", "_crawl", "_hosts", "_seen", "_requests")
#: What one script uses besides.
OWN = {"exchange": ("_operations", "_claims")}


@cache
def source(name: str) -> str:
    """The text of ``lua/<name>.lua`` with the functions that it uses in front of it."""
    return joined(*SHARED, *OWN.get(name, ()), name)


def joined(*names: str) -> str:
    """The texts of several files of ``lua/``, one behind the other."""
    folder = files(__package__) / "lua"
    return "\n".join((folder / f"{name}.lua").read_text("utf-8") for name in names)


@cache
def sha(name: str) -> str:
    """The hash by which Redis knows the script (EVALSHA)."""
    return hashlib.sha1(source(name).encode(), usedforsecurity=False).hexdigest()


async def run(client: redis.asyncio.Redis, name: str, key: str, arguments: Sequence[Argument]) -> object:
    """Run a script, loading it when Redis does not know it (first use, restart, fail-over, SCRIPT FLUSH)."""
    try:
        return await client.evalsha(sha(name), 1, key, *arguments)
    except NoScriptError:
        return await client.eval(source(name), 1, key, *arguments)


def run_blocking(client: redis.Redis, name: str, key: str, arguments: Sequence[Argument]) -> object:
    """As ``run``, for the heartbeat's thread and for tools."""
    try:
        return client.evalsha(sha(name), 1, key, *arguments)
    except NoScriptError:
        return client.eval(source(name), 1, key, *arguments)
