"""The rows for people: on the terminal, and in docs/performance.md."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.results import Row

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
COLUMNS = ("what", "measured", "min to max", "peer", "budget", "")


def number(value: float) -> str:
    """Three digits that matter, or all of a large number."""
    if abs(value) >= 100:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cells(row: Row) -> tuple[str, ...]:
    """A row's columns."""
    peer = "" if row.peer is None else row.peer
    if row.peer_value is not None:
        peer = f"{peer}: {number(row.peer_value)}"
    spread = "" if row.min == row.max else f"{number(row.min)} to {number(row.max)}"
    mark = "" if row.ok and row.budget is None else ("ok" if row.ok else "NOT OK")
    return (row.name.partition(": ")[2], f"{number(row.value)} {row.unit}", spread, peer, row.budget or "", mark)


def by_group(rows: Iterable[Row]) -> Iterable[tuple[str, list[Row]]]:
    """The rows of each group; a row is called ``group: what``."""
    for group, found in groupby(rows, key=lambda row: row.name.partition(": ")[0]):
        yield group, list(found)


def show(rows: Sequence[Row]) -> None:
    """The table on stdout, as wide as it has to be where that is no terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    for group, found in by_group(rows):
        table = Table(title=group, title_justify="left", expand=False)
        for column in COLUMNS:
            table.add_column(column, justify="right" if column == "measured" else "left")
        for row in found:
            table.add_row(*cells(row), style=None if row.ok else "bold red")
        console.print(table)


def markdown(rows: Sequence[Row], machine: Mapping[str, Any], versions: Mapping[str, str], notes: Sequence[str]) -> str:
    """What stands in docs/performance.md between the marks."""
    cores = f"{machine['cores']} cores of {machine['processor']}, {machine['memory_bytes'] / 2**30:.0f} GiB"
    lines = [
        f"Measured on {machine['date'][:10]}: {cores}, {machine['distribution'] or machine['system']}.",
        "",
        ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
        "",
    ]
    if notes:
        lines += ["This run was disturbed:", "", *(f"- {note.splitlines()[0]}" for note in notes), ""]
    for group, found in by_group(rows):
        lines += [f"### {group}", "", f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in cells(row))} |" for row in found]
        lines.append("")
    return "\n".join(lines)


def write_page(path: Path, text: str) -> None:
    """Put ``text`` between the marks of a page.

    Raises:
        BenchError: The page has no marks.
    """
    page = path.read_text(encoding="utf-8")
    if BEGIN not in page or END not in page:
        raise BenchError(f"{path} has no lines {BEGIN!r} and {END!r} for the table to stand between")
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page), encoding="utf-8")
