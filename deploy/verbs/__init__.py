"""The verbs of the command line, one subject a file; what they do is in the modules of ``deploy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from deploy.drains import drained
from deploy.egg import project_root
from deploy.environment import redis_if_reachable, use_embedded_stack
from deploy.errors import UsageError
from deploy.fleet import load_fleet
from deploy.targets import Node, read_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Function = TypeVar("Function", bound="Callable[..., Any]")


def target_option(function: Function) -> Function:
    """``-t NAME``, repeatable."""
    return click.option(
        *("-t", "--target", "targets"),
        multiple=True,
        metavar="NAME",
        help="A [deploy:NAME] of scrapy.cfg; can be repeated. Default: all of them.",
    )(function)


def json_option(function: Function) -> Function:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(function)


def only_option(function: Function) -> Function:
    """``--only LABEL``, repeatable."""
    return click.option(
        *("--only", "only"),
        multiple=True,
        metavar="LABEL",
        help="Only nodes with this label in fleet.toml; can be repeated, then they need all.",
    )(function)


def dry_run_option(function: Function) -> Function:
    """``--dry-run``."""
    return click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")(function)


def chosen_nodes(names: Sequence[str], labels: Sequence[str] = ()) -> list[Node]:
    """The nodes of ``-t``, with the embedded stack's variables known without sourcing ``.local/env``.

    Args:
        names: Of ``[deploy:NAME]``; none: all.
        labels: Of ``[nodes.NAME]`` in fleet.toml; a node must have all of them.

    Raises:
        UsageError: No such node, or no node has these labels.
    """
    root = project_root()
    use_embedded_stack(root)
    nodes = read_targets(names)
    if not labels:
        return nodes
    fleet = load_fleet(root)
    labelled = [node for node in nodes if fleet.node(node.name).labels.issuperset(labels)]
    if not labelled:
        known = sorted({label for spec in fleet.nodes.values() for label in spec.labels})
        raise UsageError(
            f"no node is labelled {' and '.join(labels)} in fleet.toml; its labels are {', '.join(known) or 'none'}"
        )
    return labelled


def nodes_for_work(names: Sequence[str]) -> list[Node]:
    """The nodes of ``-t``; without any, all that are not drained.

    Raises:
        UsageError: No such node, or all are drained.
    """
    nodes = chosen_nodes(names)
    if names:
        return nodes
    root = project_root()
    client, fleet = redis_if_reachable(root), load_fleet(root)
    off = drained(client) if client else {}
    working = [node for node in nodes if node.name not in off and not fleet.node(node.name).drain]
    if not working:
        raise UsageError("every node is drained: `python -m deploy drain NODE --off`, or name one with -t")
    return working
