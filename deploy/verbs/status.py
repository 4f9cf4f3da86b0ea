"""``status``: of one crawl, or of everything here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from deploy.control import Control
from deploy.crawl_view import look
from deploy.errors import ConnectError, UsageError
from deploy.local.commands import embedded_stack
from deploy.output import print_json, print_table, say
from deploy.verbs import json_option


@click.command("status")
@click.argument("spider", required=False)
@json_option
@click.option(
    "--dir",
    "directory",
    default=".local",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Of the embedded stack.",
)
def status_command(spider: str | None, as_json: bool, directory: Path) -> None:
    """Show how the crawl SPIDER stands; without it, the servers of the embedded stack and all crawls.

    \b
    Examples:
      python -m deploy status site --json
      python -m deploy status
    """
    if spider:
        _show(spider, as_json=as_json)
        return
    servers = embedded_stack(directory).status()
    crawls = _crawls()
    if as_json:
        print_json({"directory": str(directory), "servers": [asdict(s) for s in servers], "crawls": crawls})
        return
    if not servers:
        say(f"no stack in {directory}; `python -m deploy up` starts one")
    for server in servers:
        jobs = "" if server.running is None else f"{server.running} running, {server.pending} pending"
        click.echo(f"{server.name:<8} {server.state:<8} {server.pid or '-':<8} {server.url:<40} {jobs}".rstrip())
    if crawls:
        _table(crawls)


def _crawls() -> list[dict[str, Any]]:
    """All crawls, where there is a fleet: the servers are shown also when Redis is away."""
    try:
        return look(Control.open())
    except (ConnectError, UsageError) as error:
        say(f"no crawls are shown: {error}")
        return []


def _table(views: list[dict[str, object]]) -> None:
    """One line for each crawl."""
    columns = ("crawl", "state", "workers", "queued", "in flight", "done", "pages/s", "errors", "dead", "eta", "finish")
    print_table(
        columns,
        [
            (
                view["crawl"],
                view["outcome"] if view["state"] == "idle" and view["outcome"] else view["state"],
                f"{view['running']}/{view['wanted']}",
                view["queued"],
                view["in_flight"],
                view["done"],
                view["pages_per_second"],
                view["errors"],
                view["dead_letters"],
                None if view["eta_seconds"] is None else f"{view['eta_seconds']} s",
                view["finish_reason"],
            )
            for view in views
        ],
    )


def _show(spider: str, *, as_json: bool) -> None:
    """``status SPIDER``."""
    [view] = look(Control.open(), [spider])
    if as_json:
        print_json(view)
        return
    _table([view])
    for node, count in view["nodes"].items():
        say(f"{node}: {count} running")
    for job in view["foreign"]:
        say(f"not started by the fleet, and left alone: job {job['job']} on {job['node']} ({job['state']})")
    for problem in view["problems"]:
        say(problem)
    if view["last_error"]:
        say(f"the last worker that failed said:\n{view['last_error']}")
