"""The verbs of the embedded stack."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from deploy.local.stack import Stack

MAX_NODES = 32


class _Echo(logging.Handler):
    """Progress, on whatever is standard error now."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def _directory_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--dir",
        "directory",
        default=".local",
        show_default=True,
        type=click.Path(path_type=Path),
        help="Where data, logs and passwords lie.",
    )(command)


def _stack(directory: Path, nodes: int | None = None) -> Stack:
    # The servers need requirements-local.txt, the other verbs do not.
    from deploy.local.stack import Stack  # noqa: PLC0415 - see above

    progress = logging.getLogger("deploy.local")
    progress.setLevel(logging.INFO)
    progress.handlers = [_Echo()]
    return Stack(directory, nodes=nodes)


@click.command()
@click.option(
    "--nodes",
    type=click.IntRange(1, MAX_NODES),
    help="How many Scrapyd nodes.  [default: as many as before, or 2]",
)
@_directory_option
def up(nodes: int | None, directory: Path) -> None:
    """Start the embedded stack: Redis, MongoDB and Scrapyd nodes on loopback.

    What runs already is kept, what died is started again with its data. Servers that REDIS_URL or MONGO_URI
    name are used as they are.

    \b
    Examples:
      python -m deploy up
      python -m deploy up --nodes 3
      . .local/env && scrapyd-deploy -a
    """
    _stack(directory, nodes).up()
    click.echo(f"the stack is up; `. {directory}/env` tells your shell where", err=True)


@click.command()
@_directory_option
def down(directory: Path) -> None:
    """Stop the embedded stack, and only it; its data stays.

    \b
    Example:
      python -m deploy down
    """
    ran = _stack(directory).down()
    click.echo("the stack is down" if ran else f"nothing of a stack runs in {directory}", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_directory_option
def status(as_json: bool, directory: Path) -> None:
    """Show what of the embedded stack runs.

    \b
    Examples:
      python -m deploy status
      python -m deploy status --json
    """
    servers = _stack(directory).status()
    if as_json:
        click.echo(json.dumps({"directory": str(directory), "servers": [asdict(s) for s in servers]}, indent=2))
        return
    if not servers:
        click.echo(f"no stack in {directory}; `python -m deploy up` starts one", err=True)
    for server in servers:
        jobs = "" if server.running is None else f"{server.running} running, {server.pending} pending"
        click.echo(f"{server.name:<8} {server.state:<8} {server.pid or '-':<8} {server.url:<40} {jobs}".rstrip())
