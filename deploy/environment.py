"""Where Redis, MongoDB and the nodes are: the environment, and behind it the embedded stack's own file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from deploy.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

STACK_FILE = ".local/stack.json"


def use_embedded_stack(root: Path) -> None:
    """Set what ``.local/env`` would export, as far as the environment does not name it already.

    A variable that the user has set always wins, so that the same commands work on real nodes.

    Raises:
        UsageError: ``.local/stack.json`` is there and is not what ``up`` writes.
    """
    try:
        text = (root / STACK_FILE).read_text()
    except FileNotFoundError:
        return
    try:
        stack = json.loads(text)
        found = {"REDIS_URL": stack["redis_url"], "MONGO_URI": stack["mongo_uri"]}
        for number, node in enumerate(stack["nodes"], 1):
            for key in ("url", "username", "password"):
                found[f"NODE{number}_{key.upper()}"] = node[key]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{STACK_FILE} is damaged: `python -m deploy down`, delete it, and `up` again"
        ) from error
    for name, value in found.items():
        os.environ.setdefault(name, value)


def redis_url(root: Path) -> str:
    """The URL of the frontier's Redis.

    Raises:
        UsageError: Neither the environment nor an embedded stack names one.
    """
    return _named("REDIS_URL", "redis://:password@host:6379/0", root)


def mongo_uri(root: Path) -> str:
    """The URI of the items' MongoDB; raises as ``redis_url``."""
    return _named("MONGO_URI", "mongodb://user:password@host:27017/", root)


def _named(variable: str, example: str, root: Path) -> str:
    use_embedded_stack(root)
    value = os.environ.get(variable, "")
    if not value:
        raise UsageError(
            f"{variable} is not set: `python -m deploy up` starts an embedded stack, "
            f"or export {variable}={example}"
        )
    return value
