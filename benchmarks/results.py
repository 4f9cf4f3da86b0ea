"""Rows, and the JSON that keeps them."""

from __future__ import annotations

import json
import operator
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_HOLDS: dict[str, Callable[[float, float], bool]] = {"≥": operator.ge, "≤": operator.le, "=": operator.eq}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: What was measured, ``group: what``.
        value: Ours, the median of several runs.
        unit: Of ``value``, ``min``, ``max`` and ``peer_value``.
        min: The least run.
        max: The greatest run.
        peer: What it is compared with; None where there is nothing.
        peer_value: The peer's median in the same unit.
        budget: What ``value`` has to be, as ``≥ 0.95``; None where nothing is asked.
        ok: Whether the budget holds and both sides did the same work.
    """

    name: str
    value: float
    unit: str
    min: float
    max: float
    peer: str | None = None
    peer_value: float | None = None
    budget: str | None = None
    ok: bool = True

    @classmethod
    def of(
        cls,
        name: str,
        figure: Figure | float,
        unit: str,
        *,
        peer: str | None = None,
        peer_value: float | None = None,
        budget: str | None = None,
        valid: bool = True,
    ) -> Row:
        """A row; ``valid`` says whether both sides did the same work, so that the figure means something."""
        if not isinstance(figure, Figure):
            figure = Figure(figure, figure, figure)
        ok = valid and (budget is None or holds(figure.value, budget))
        return cls(name, figure.value, unit, figure.least, figure.most, peer, peer_value, budget, ok)


def holds(value: float, budget: str) -> bool:
    """Whether ``value`` is within ``budget``, a sign (≥, ≤, =) and a number.

    Raises:
        ValueError: The budget is not written so.
    """
    sign, _, bound = budget.partition(" ")
    if sign not in _HOLDS:
        raise ValueError(f"a budget is written as '≥ 0.95', not {budget!r}")
    return _HOLDS[sign](value, float(bound))


def write_json(
    path: Path, machine: Mapping[str, Any], versions: Mapping[str, str], rows: Iterable[Row], notes: Iterable[str]
) -> None:
    """Keep the rows for programs; the file appears whole or not at all."""
    document = {
        "machine": {**machine, "disturbances": list(notes)},
        "versions": dict(versions),
        "rows": [asdict(row) for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(temporary, path)  # noqa: PTH105 - Path.replace says nothing more
