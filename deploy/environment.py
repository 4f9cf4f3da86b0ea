"""Where Redis, MongoDB and the nodes are: the environment, and behind it the embedded stack's own file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.errors import UsageError
from deploy.targets import Node

if TYPE_CHECKING:
    from pathlib import Path

STACK_FILE = ".local/stack.json"


@dataclass(frozen=True, repr=False)
class Stack:
    """The embedded stack, as ``up`` has written it down; holds passwords."""

    redis_url: str
    mongo_uri: str
    nodes: tuple[Node, ...]


def read_stack(root: Path) -> Stack | None:
    """The embedded stack of this checkout, or None where there is none.

    Raises:
        UsageError: ``.local/stack.json`` is there and is not what ``up`` writes.
    """
    try:
        stack = json.loads((root / STACK_FILE).read_text())
        nodes = [
            Node(name=node["name"], url=node["url"], username=node["username"], password=node["password"])
            for node in stack["nodes"]
        ]
        return Stack(stack["redis_url"], stack["mongo_uri"], tuple(nodes))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{STACK_FILE} is damaged: `python -m deploy down`, delete it, and `python -m deploy up`"
        ) from error


def use_embedded_stack(root: Path) -> None:
    """Set what ``.local/env`` would export, as far as the environment does not name it already.

    A variable that the user has set always wins, so that the same commands work on real nodes.
    """
    stack = read_stack(root)
    if stack is None:
        return
    found = {"REDIS_URL": stack.redis_url, "MONGO_URI": stack.mongo_uri}
    for number, node in enumerate(stack.nodes, 1):
        found[f"NODE{number}_URL"] = node.url
        found[f"NODE{number}_USERNAME"] = node.username
        found[f"NODE{number}_PASSWORD"] = node.password
    for name, value in found.items():
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
