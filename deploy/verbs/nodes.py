"""``targets``: which nodes there are, and whether they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deploy.client import NodeClient
from deploy.fanout import fan_out
from deploy.output import print_json, print_table
from deploy.verbs import chosen_nodes, json_option, target_option

if TYPE_CHECKING:
    from deploy.targets import Node

#: A person waits for this list, and daemonstatus costs a node nothing.
_TIMEOUT = (3.0, 10.0)


@click.command()
@target_option
@json_option
def targets(targets: tuple[str, ...], as_json: bool) -> None:
    """List the nodes of scrapy.cfg, and whether each answers.

    \b
    Examples:
      python -m deploy targets
      python -m deploy targets -t node1 --json
    """
    nodes = chosen_nodes(targets)
    answers = fan_out(nodes, _look)
    rows = [
        {
            "name": node.name,
            "url": node.url,
            "project": node.project,
            **answers.done.get(node.name, {"answers": False, "error": str(answers.failed.get(node.name))}),
        }
        for node in nodes
    ]
    if as_json:
        print_json(rows)
    else:
        columns = ("name", "url", "answers", "versions", "newest by name", "pending", "running", "finished")
        print_table(
            columns,
            [
                (
                    row["name"],
                    row["url"],
                    "yes" if row["answers"] else "no",
                    len(row["versions"]) if row["answers"] else None,
                    (row["versions"] or [None])[-1] if row["answers"] else None,
                    *(row.get(state) for state in ("pending", "running", "finished")),
                )
                for row in rows
            ],
        )
    answers.check()


def _look(node: Node) -> dict[str, Any]:
    client = NodeClient(node, timeout=_TIMEOUT)
    answer = client.daemon_status()
    return {"answers": True, **answer, "versions": client.list_versions(node.project)}
