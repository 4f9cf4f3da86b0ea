"""``start``: a crawl over all nodes."""

from __future__ import annotations

import click

from deploy.control import Control
from deploy.errors import UsageError
from deploy.jobs import RESERVED_ARGUMENTS, parse_pairs
from deploy.output import say
from deploy.verbs import json_option
from deploy.verbs.settling import report, see_placed
from deploy.version_names import check_version_name


@click.command("start")
@click.argument("spider")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="How many, over all nodes.")
@click.option("-a", "arguments", multiple=True, metavar="NAME=VALUE", help="A spider argument; can be repeated.")
@click.option("-s", "settings", multiple=True, metavar="NAME=VALUE", help="A Scrapy setting; can be repeated.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Only on nodes with it; can be repeated.")
@click.option("--placement", type=click.Choice(["spread", "least-loaded", "round-robin", "random"]))
@click.option("--max-per-node", type=click.IntRange(1), metavar="N", help="At most N of its workers on one node.")
@click.option("--priority", type=int, help="Where there is not room for all, the higher goes first.")
@click.option("--overlap", type=click.Choice(["skip", "queue", "replace"]), help="When it runs already; default skip.")
@click.option("--version", default="", metavar="V", help="Run this version; default: the released one.")
@json_option
def start_command(
    *,
    spider: str,
    workers: int | None,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    labels: tuple[str, ...],
    placement: str | None,
    max_per_node: int | None,
    priority: int | None,
    overlap: str | None,
    version: str,
    as_json: bool,
) -> None:
    """Start a crawl: the one that fleet.toml calls SPIDER, or the spider of that name.

    Its workers are placed on the nodes that have room; `deploy supervise` sees that they stay up. What does not fit
    waits for room, and is said.

    \b
    Examples:
      python -m deploy start site --workers 4
      python -m deploy start site -a max_pages=500 -s MAX_IDLE_TIME_BEFORE_CLOSE=30
    """
    if version:
        check_version_name(version)
    control = Control.open()
    spider_arguments = parse_pairs(arguments, "-a")
    if taken := sorted(RESERVED_ARGUMENTS & spider_arguments.keys()):
        raise UsageError(f"no spider argument can be called {', '.join(taken)}: Scrapyd takes it for itself")
    known = {label for node in control.fleet().nodes.values() for label in node.labels}
    if unknown := sorted(set(labels) - known):
        raise UsageError(f"no node has the label {', '.join(unknown)}: there are {', '.join(sorted(known)) or 'none'}")
    spec, declared = control.spec(
        spider,
        workers=workers,
        arguments=spider_arguments,
        settings=parse_pairs(settings, "-s"),
        labels=frozenset(labels) if labels else None,
        placement=placement,
        max_per_node=max_per_node,
        priority=priority,
        overlap=overlap,
    )
    control.check_spider(spec.spider, version)
    wanted, begun = control.crawls.start(spider, spec, version=version, declared=declared)
    if not begun:
        queued = f"; {wanted.waiting} starts wait for its end" if wanted.waiting else ""
        say(f"{spider} runs already{queued} (overlap = {spec.overlap})")
    see_placed(control, wanted)
    report(control, wanted, as_json=as_json)
