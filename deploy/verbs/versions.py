"""``versions``, ``prune``, ``delete`` and ``withdraw``: what is on the nodes, and what goes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from deploy.egg import project_root
from deploy.environment import redis_if_reachable
from deploy.errors import ConnectError, DeployError
from deploy.output import print_json, print_table, say
from deploy.pinned import pinned_versions
from deploy.verbs import chosen_nodes, dry_run_option, json_option, only_option, target_option
from deploy.version_names import check_version_name
from deploy.versions import delete, prune, table
from deploy.withdrawals import Withdrawals, settle

if TYPE_CHECKING:
    from deploy.fanout import FanOut
    from deploy.versions import Deletion, Table


@click.command("versions")
@target_option
@only_option
@json_option
def versions_command(targets: tuple[str, ...], only: tuple[str, ...], *, as_json: bool) -> None:
    """Show which node has which version, newest first, and which nodes drifted from the release.

    \b
    Examples:
      python -m deploy versions
      python -m deploy versions --json
    """
    nodes = chosen_nodes(targets, only)
    root = project_root()
    _settle(targets, only)
    found = table(root, nodes)
    drifted = found.drifted
    if as_json:
        print_json(
            {
                "released": found.released,
                "nodes": {name: {"versions": held, "drift": drifted.get(name)} for name, held in found.held.items()},
                "failed": {name: str(error) for name, error in found.failed.items()},
            }
        )
    else:
        _show(found)
    for name, drift in drifted.items():
        say(f"drift: {name} {drift}")
    if found.failed:
        unreachable = not found.held and all(isinstance(error, ConnectError) for error in found.failed.values())
        raise (ConnectError if unreachable else DeployError)("\n".join(str(error) for error in found.failed.values()))


def _show(found: Table) -> None:
    rows = []
    for version in found.versions:
        marks = [
            "newest" if held[-1] == version else "yes" if version in held else None for held in found.held.values()
        ]
        at = found.times.get(version)
        shown = datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M %Z") if at else None
        rows.append(("released" if version == found.released else "", version, shown, *marks))
    drifted = found.drifted
    heads = [f"{name} (drift)" if name in drifted else name for name in found.held]
    print_table(("", "version", "since", *heads), rows)


def _mark(version: str, held: list[str]) -> str | None:
    if version not in held:
        return None
    return "newest" if version == held[-1] else "yes"


@click.command("prune")
@target_option
@only_option
@click.option("--keep", type=click.IntRange(1), required=True, metavar="N", help="So many of the newest stay.")
@dry_run_option
@json_option
def prune_command(*, targets: tuple[str, ...], only: tuple[str, ...], keep: int, dry_run: bool, as_json: bool) -> None:
    """Delete old versions from the nodes, but none that a running or pending job uses.

    \b
    Examples:
      python -m deploy prune --keep 5
      python -m deploy prune --keep 5 --dry-run
    """
    root, nodes = project_root(), chosen_nodes(targets, only)
    outcome = prune(root, nodes, keep, pinned=pinned_versions(redis_if_reachable(root)), dry_run=dry_run)
    _report(outcome, dry_run=dry_run, as_json=as_json)
    outcome.check()


@click.command("delete")
@click.argument("version")
@target_option
@only_option
@dry_run_option
@json_option
def delete_command(
    *, version: str, targets: tuple[str, ...], only: tuple[str, ...], dry_run: bool, as_json: bool
) -> None:
    """Delete VERSION from the nodes; where a running or pending job uses it, it stays.

    \b
    Examples:
      python -m deploy delete 1796067188-cc98fa7e
      python -m deploy delete hotfix-7 -t node1 --dry-run
    """
    check_version_name(version)
    nodes = chosen_nodes(targets, only)
    pinned = pinned_versions(redis_if_reachable(project_root()))
    outcome = delete(nodes, version, pinned=pinned, dry_run=dry_run)
    _report(outcome, dry_run=dry_run, as_json=as_json)
    outcome.check()
    kept = [reason for of_node in outcome.done.values() for reason in of_node.kept.values()]
    if kept:
        raise DeployError("\n".join(kept))
    if not any(of_node.gone for of_node in outcome.done.values()):
        raise DeployError(f"no node has version {version}: `python -m deploy versions` shows what there is")


def _report(outcome: FanOut[Deletion], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({name: {"deleted": one.gone, "kept": one.kept} for name, one in outcome.done.items()})
    else:
        rows = [(name, version) for name, one in outcome.done.items() for version in one.gone]
        print_table(("node", "would delete" if dry_run else "deleted"), rows)
    for one in outcome.done.values():
        for reason in one.kept.values():
            say(reason)
    if dry_run:
        say("nothing was deleted")


@click.command("withdraw")
@target_option
@only_option
@dry_run_option
@json_option
def withdraw_command(*, targets: tuple[str, ...], only: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Take away what failed releases had to leave on nodes that were away, or whose jobs used it.

    push and versions do it as well.

    \b
    Examples:
      python -m deploy withdraw
      python -m deploy withdraw --dry-run
    """
    root = project_root()
    if not dry_run:
        _settle(targets, only)
    left = Withdrawals.of(root, redis_if_reachable(root)).all()
    if as_json:
        print_json([{"url": one.url, "version": one.version, "reason": one.reason, "at": one.at} for one in left])
    else:
        print_table(("node", "still to withdraw"), [(one.url, one.version) for one in left])


def _settle(targets: tuple[str, ...], only: tuple[str, ...]) -> None:
    root = project_root()
    settled = settle(chosen_nodes(targets, only), Withdrawals.of(root, redis_if_reachable(root)))
    for name, gone in settled.done.items():
        if gone:
            say(f"{name}: withdrew {', '.join(gone)}")
