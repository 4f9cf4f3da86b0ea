"""``push``: release the checkout to the nodes."""

from __future__ import annotations

import time

import click

from deploy.egg import build_egg, project_root
from deploy.output import print_json, print_table, say
from deploy.release import check_version_name, new_version, push, record, where_landed
from deploy.verbs import chosen_nodes, json_option, target_option


@click.command("push")
@target_option
@click.option("--version", metavar="V", help="Its name; default <seconds since the epoch>-<commit>.")
@json_option
def push_command(targets: tuple[str, ...], version: str | None, as_json: bool) -> None:
    """Build one egg from this checkout and push it to the nodes, all at once.

    Fails when any node refuses it or lists no spiders in it, and says which nodes hold it then.

    \b
    Examples:
      python -m deploy push
      python -m deploy push -t node1 --version hotfix-7
    """
    nodes = chosen_nodes(targets)
    root = project_root()
    version = version or new_version(root)
    check_version_name(version)
    say(f"building the egg of {root}")
    egg = build_egg(root)
    say(f"pushing version {version} ({len(egg) / 1000:.0f} kB) to {', '.join(node.name for node in nodes)}")
    pushed = push(nodes, egg, version)
    if pushed.failed:
        # Also a node that failed may hold it: Scrapyd keeps an egg that it could not list.
        landed = where_landed(nodes, version)
        say(
            f"version {version} is only half released: it is on {', '.join(landed)}"
            if landed
            else f"version {version} is on no node that answers"
        )
    else:
        record(root, nodes[0].project, version, time.time())
    if as_json:
        print_json(
            {
                "version": version,
                "spiders": pushed.done,
                "failed": {n: str(e) for n, e in pushed.failed.items()},
            }
        )
    else:
        print_table(("node", "version", "spiders"), [(n, version, ", ".join(s)) for n, s in pushed.done.items()])
    pushed.check()
