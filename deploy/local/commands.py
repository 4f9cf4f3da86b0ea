"""The verbs of the embedded stack."""

from __future__ import annotations

import logging
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


def embedded_stack(directory: Path, nodes: int | None = None) -> Stack:
    """The stack in ``directory``; its progress goes to standard error."""
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
    embedded_stack(directory, nodes).up()
    click.echo(f"the stack is up; `. {directory}/env` tells your shell where", err=True)


@click.command()
@_directory_option
def down(directory: Path) -> None:
    """Stop the embedded stack, and only it; its data stays.

    \b
    Example:
      python -m deploy down
    """
    ran = embedded_stack(directory).down()
    click.echo("the stack is down" if ran else f"nothing of a stack runs in {directory}", err=True)
