"""``push`` and ``rollback``: release the checkout, or an earlier release, to the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deploy.claims import claimed
from deploy.egg import build_egg, list_spiders, project_root
from deploy.environment import redis_if_reachable
from deploy.errors import DeployError
from deploy.fanout import FanOut
from deploy.output import print_json, print_table, say
from deploy.release import Release, look, release
from deploy.released import find_egg, newest_version, record, release_times
from deploy.rollback import version_before
from deploy.verbs import chosen_nodes, dry_run_option, json_option, only_option, target_option
from deploy.version_names import check_version_name, new_version, origin, rollback_version
from deploy.withdrawals import Withdrawals, settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import redis

    from deploy.targets import Node

best_effort_option = click.option(
    "--best-effort", is_flag=True, help="Keep it on the nodes where it is fine; the exit code is still 1."
)


@click.command("push")
@target_option
@only_option
@click.option("--version", metavar="V", help="Its name; default <seconds since the epoch>-<commit>.")
@best_effort_option
@dry_run_option
@json_option
def push_command(
    *,
    targets: tuple[str, ...],
    only: tuple[str, ...],
    version: str | None,
    best_effort: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Build one egg from this checkout and release it to the nodes, all at once, or to none.

    Nothing is sent while a node is away. When a node refuses the egg, lists other spiders than it has, or lacks a
    package, the version is withdrawn wherever no job uses it.

    \b
    Examples:
      python -m deploy push
      python -m deploy push --only fast --version hotfix-7
      python -m deploy push --dry-run
    """
    nodes = chosen_nodes(targets, only)
    root = project_root()
    if version:
        check_version_name(version)
    held = _held(
        nodes, best_effort=best_effort, as_json=as_json
    )  # before the build: a node that is away ends it at once
    version = version or new_version(root, held=[name for of_node in held.values() for name in of_node])
    client = None if dry_run else redis_if_reachable(root)
    with claimed(client, nodes[0].project, version):
        say(f"building the egg of {root}")
        egg = build_egg(root)
        spiders = list_spiders(egg)
        _send(
            root, nodes, egg, version, spiders, client=client, best_effort=best_effort, dry_run=dry_run, as_json=as_json
        )


@click.command("rollback")
@click.argument("version", required=False)
@target_option
@only_option
@best_effort_option
@dry_run_option
@json_option
def rollback_command(
    *,
    version: str | None,
    targets: tuple[str, ...],
    only: tuple[str, ...],
    best_effort: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Release VERSION again, under a new name that sorts last; default: the release before the newest one.

    New jobs run it then, also those of a plain curl; jobs that run go on with what they have. The egg is this
    machine's copy, or is built from the commit in the version's name.

    \b
    Examples:
      python -m deploy rollback
      python -m deploy rollback 1796067188-cc98fa7e
    """
    nodes = chosen_nodes(targets, only)
    root = project_root()
    held = _held(nodes, best_effort=best_effort, as_json=as_json)
    project = nodes[0].project
    known = dict.fromkeys(name for of_node in held.values() for name in of_node)
    if version is None:
        current = newest_version(root, project, known)
        if current is None:
            raise DeployError("no node has any version: `python -m deploy push` first")
        version = version_before(held, release_times(root, project, known), current)
    check_version_name(version)
    egg = find_egg(root, project, version)
    say(f"going back to {origin(version)}")
    name = rollback_version(version, list(held.values()))
    spiders = list_spiders(egg)
    client = None if dry_run else redis_if_reachable(root)
    with claimed(client, project, name):
        _send(root, nodes, egg, name, spiders, client=client, best_effort=best_effort, dry_run=dry_run, as_json=as_json)


def _held(nodes: Sequence[Node], *, best_effort: bool, as_json: bool) -> dict[str, list[str]]:
    """The versions on each node, so that a name can be newer than all.

    Raises:
        DeployError: A node does not answer; with ``best_effort`` it is left out.
    """
    looks = look(nodes)
    if looks.failed and not best_effort:
        refused = Release("", FanOut(done={name: [] for name in looks.done}, failed=looks.failed))
        if as_json:
            _show(refused, as_json=True)
        refused.check()
    return {name: seen.versions for name, seen in looks.done.items()}


def _send(
    root: Path,
    nodes: Sequence[Node],
    egg: bytes,
    version: str,
    spiders: Sequence[str],
    *,
    client: redis.Redis | None,
    best_effort: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    names = ", ".join(node.name for node in nodes)
    if dry_run:
        say(f"would release version {version} ({len(egg) / 1000:.0f} kB) to {names}; nothing was sent")
        _show(Release.planned(version, nodes, spiders), as_json=as_json)
        return
    withdrawals = Withdrawals.of(root, client)
    for name, gone in settle(nodes, withdrawals).done.items():
        if gone:
            say(f"{name}: withdrew {', '.join(gone)}, which was left there")
    say(f"releasing version {version} ({len(egg) / 1000:.0f} kB) to {names}")
    outcome = release(nodes, egg, version, withdrawals, expected=spiders, best_effort=best_effort, progress=say)
    if outcome.on:
        record(root, nodes[0].project, version, egg)
    for name, newest in outcome.shadowed.items():
        say(
            f"warning: {name}: a plain schedule.json still runs {newest}, which sorts behind {version}; "
            f"`python -m deploy delete {newest}` would change that"
        )
    _show(outcome, as_json=as_json)
    outcome.check()


def _show(outcome: Release, *, as_json: bool) -> None:
    on = {name: outcome.spiders.done[name] for name in outcome.on}
    if as_json:
        print_json(
            {
                "version": outcome.version,
                "spiders": on,
                "failed": {name: str(error) for name, error in outcome.spiders.failed.items()},
                "withdrawn": outcome.withdrawn,
                "left": {name: str(error) for name, error in outcome.left.items()},
            }
        )
    else:
        print_table(("node", "version", "spiders"), [(n, outcome.version, ", ".join(s)) for n, s in on.items()])
