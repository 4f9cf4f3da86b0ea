"""Where Redis, MongoDB and the nodes are: the environment, and behind it the embedded stack's own file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deploy.errors import ConnectError, UsageError
from deploy.local.info import StackInfo
from deploy.seed import redis_client
from deploy.targets import Node

if TYPE_CHECKING:
    from pathlib import Path

    import redis

STACK_DIRECTORY = ".local"


def read_stack(root: Path) -> StackInfo | None:
    """The embedded stack of this checkout, or None where there never was one."""
    return StackInfo.load(root / STACK_DIRECTORY)


def stack_nodes(stack: StackInfo) -> tuple[Node, ...]:
    """The stack's nodes, as many as it has, whatever scrapy.cfg lists."""
    return tuple(Node(name=n.name, url=n.url, username=n.username, password=n.password) for n in stack.nodes)


def use_embedded_stack(root: Path) -> None:
    """Set what ``.local/env`` would export, as far as the environment does not name it already.

    A variable that the user has set always wins, so that the same commands work on real nodes.
    """
    stack = read_stack(root)
    if stack:
        for name, value in stack.environment.items():
            os.environ.setdefault(name, value)


def redis_url(root: Path) -> str:
    """The URL of the frontier's Redis.

    Raises:
        UsageError: Neither the environment nor an embedded stack names one.
    """
    use_embedded_stack(root)
    value = os.environ.get("REDIS_URL", "")
    if not value:
        raise UsageError(
            "REDIS_URL is not set: `python -m deploy up` starts an embedded stack, "
            "or export REDIS_URL=redis://:password@host:6379/0"
        )
    return value


def redis_if_reachable(root: Path) -> redis.Redis | None:
    """A client of the frontier's Redis; None where none is named or it does not answer: releases go on without it."""
    use_embedded_stack(root)
    url = os.environ.get("REDIS_URL")
    try:
        return redis_client(url) if url else None
    except ConnectError:
        return None
