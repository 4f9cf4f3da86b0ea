"""``targets``, ``nodes``, ``drain``, ``check``: which nodes there are, how they are, and which get no new work."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from deploy import records
from deploy.check import check
from deploy.client import NodeClient
from deploy.drains import drained, set_draining
from deploy.egg import project_root
from deploy.environment import redis_if_reachable, redis_url
from deploy.errors import ConnectError, DeployError
from deploy.fanout import fan_out
from deploy.fleet import load_fleet
from deploy.health import POLL_PATIENCE_SECONDS, Health, judge, look_again
from deploy.heard import hear, last_heard
from deploy.output import print_json, print_table, say
from deploy.probe import probe_egg
from deploy.seed import redis_client
from deploy.verbs import chosen_nodes, json_option, only_option, target_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis

    from deploy.check import Facts
    from deploy.health import Beat
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


def beats(client: redis.Redis | None) -> Sequence[Beat]:
    """What the workers of all nodes say of themselves; nothing where Redis is away."""
    return records.running(client) if client is not None else ()


@click.command("nodes")
@target_option
@only_option
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=POLL_PATIENCE_SECONDS,
    metavar="SECONDS",
    help="How long to watch a node that keeps jobs waiting beside free slots; default 11, two polls of Scrapyd.",
)
@json_option
def nodes_command(*, targets: tuple[str, ...], only: tuple[str, ...], patience: float, as_json: bool) -> None:
    """Show how the nodes are: version, jobs, free slots, load and memory, and what is wrong.

    Fails when anything is wrong with any node. Load and memory are what the node's workers last said.

    \b
    Examples:
      python -m deploy nodes
      python -m deploy nodes --only fast --json
    """
    nodes = chosen_nodes(targets, only)
    root = project_root()
    fleet = load_fleet(root)
    specs = {node.name: fleet.node(node.name) for node in nodes}
    client = redis_if_reachable(root)
    looks = look_again(nodes, {name: spec.capacity for name, spec in specs.items()}, patience)
    hear(client, looks.samples)
    heard = last_heard(client)
    off = {*(drained(client) if client else ()), *(name for name, spec in specs.items() if spec.drain)}
    found = [
        judge(
            node,
            looks,
            specs[node.name],
            beats(client),
            drained=node.name in off,
            last_seen=heard.get(node.name),
            patience=patience,
        )
        for node in nodes
    ]
    if client is None:
        say("Redis does not answer: load, memory, orphans and drained nodes are not known")
    if as_json:
        print_json([{**asdict(one), "drained": one.name in off} for one in found])
    else:
        _show(found)
    problems = [f"{one.name}: {problem}" for one in found for problem in one.problems]
    if problems:
        unreachable = all(one.state == "unreachable" for one in found)
        raise (ConnectError if unreachable else DeployError)("\n".join(problems))


def _show(found: list[Health]) -> None:
    columns = ("name", "state", "version", "pending", "running", "finished", "free", "load", "memory", "last seen")
    rows = [
        (
            *(one.name, one.state, one.version, one.pending, one.running, one.finished, one.free, one.load),
            f"{one.memory / 1e6:.0f} MB" if one.memory else None,
            f"{datetime.fromtimestamp(one.seen_at).astimezone():%Y-%m-%d %H:%M:%S %Z}" if one.seen_at else None,
        )
        for one in found
    ]
    print_table(columns, rows)


@click.command("drain")
@click.argument("names", nargs=-1, required=True, metavar="NODE...")
@click.option("--off", is_flag=True, help="Let it have work again.")
def drain_command(names: tuple[str, ...], *, off: bool) -> None:
    """Keep new work away from a node; the supervisor moves what it has to others.

    Needs Redis, where the flag is kept. Jobs that somebody else schedules there still run.

    \b
    Examples:
      python -m deploy drain node2
      python -m deploy drain node2 --off
    """
    nodes = chosen_nodes(names)
    client = redis_client(redis_url(project_root()))
    for node in nodes:
        set_draining(client, node.name, draining=not off)
    if off:
        say(f"{', '.join(names)}: may have new work again")
        return
    say(f"{', '.join(names)}: gets no new work")
    for node in nodes:
        left = NodeClient(node, timeout=_TIMEOUT).daemon_status()
        if left["pending"] or left["running"]:
            say(
                f"{node.name}: {left['running']} jobs run there and {left['pending']} wait; a supervisor moves those "
                f"of crawls, `python -m deploy cancel --all -t {node.name}` ends all"
            )


@click.command("check")
@target_option
@only_option
@json_option
def check_command(targets: tuple[str, ...], only: tuple[str, ...], *, as_json: bool) -> None:
    """Tell the faults of running nodes: open to anybody, packages, clock, disk, configuration.

    A small egg is pushed to each node, under a project of its own, and taken away again: what it prints in place of
    spiders is what the node is like. Jobs are not disturbed.

    \b
    Examples:
      python -m deploy check
      python -m deploy check -t node1 --json
    """
    nodes = chosen_nodes(targets, only)
    root = project_root()
    fleet = load_fleet(root)
    specs = {node.name: fleet.node(node.name) for node in nodes}
    checked = check(nodes, specs, probe_egg((root / "requirements.txt").read_text(encoding="utf-8")))
    if as_json:
        print_json({name: asdict(one) for name, one in checked.done.items()})
    else:
        rows = [
            (name, len(one.faults), *(_facts_row(one.facts) if one.facts else (None,) * 4))
            for name, one in checked.done.items()
        ]
        print_table(("name", "faults", "python", "max_proc", "free disk", "listens on"), rows)
    for name, one in checked.done.items():
        for text in one.advice:
            say(f"advice: {name} {text}")
    checked.check()
    faults = [f"{name} {fault}" for name, one in checked.done.items() for fault in one.faults]
    if faults:
        raise DeployError("\n".join(faults))


def _facts_row(facts: Facts) -> tuple[object, ...]:
    return facts.python, facts.max_proc, f"{facts.free_bytes / 1e9:.1f} GB", facts.bind_address
