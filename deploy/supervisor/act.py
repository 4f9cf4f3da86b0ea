"""Doing what was decided: on each node one thing after the other, on all nodes side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.client import NodeClient
from deploy.errors import NodeError, NodeUnreachable
from deploy.fanout import fan_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.fleet import CrawlSpec
    from deploy.supervisor.decision import Decision
    from deploy.supervisor.limits import Limits
    from deploy.supervisor.records import Placed
    from deploy.targets import Node


def act(decision: Decision, nodes: Mapping[str, Node], limits: Limits) -> tuple[dict[str, str], list[str]]:
    """Signal jobs and schedule new ones.

    A node that does not answer is left alone until the next round: whether it heard is seen then.

    Returns:
        Why jobs were refused, by id, with nothing for those that were not sent at all; and what else went wrong.
    """
    refused: dict[str, str] = {}
    complaints: list[str] = []

    def work(node: Node) -> None:
        client = NodeClient(node, timeout=(limits.connect, limits.answer))
        unsent = {job.id: (job, wanted.spec) for job, wanted in decision.starts if job.node == node.name}
        try:
            for job, signal in decision.signals:
                if job.node == node.name:
                    client.cancel(node.project, job.id, signal)
            for job, spec in list(unsent.values()):
                del unsent[job.id]
                _start(client, node, job, spec, refused)
        except NodeError as error:
            complaints.append(str(error))
            refused.update(dict.fromkeys(unsent, ""))

    concerned = {job.node for job, _ in (*decision.signals, *decision.starts)}
    fan_out([node for name, node in nodes.items() if name in concerned], work)
    return refused, complaints


def _start(client: NodeClient, node: Node, job: Placed, spec: CrawlSpec, refused: dict[str, str]) -> None:
    try:
        client.start(
            node.project,
            spec.spider,
            job=job.id,
            version=job.version,
            arguments=spec.arguments,
            settings=spec.settings,
        )
    except NodeUnreachable:
        raise
    except NodeError as error:
        refused[job.id] = str(error)
