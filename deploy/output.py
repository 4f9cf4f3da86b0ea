"""What the verbs print: data on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Columns of a table that goes into a pipe or a file: nothing there wraps or is cut.
_PIPE_WIDTH = 1000


def say(text: str) -> None:
    """Progress and remarks."""
    click.echo(text, err=True)


def print_json(data: Any) -> None:
    """One JSON document."""
    click.echo(json.dumps(data, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table with a head, or nothing where it would have no rows; None is shown as ``-``."""
    table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    if not table.row_count:
        return
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False, markup=False)
    console.print(table)
