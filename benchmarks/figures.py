"""Medians, spreads and ratios of runs that alternate."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Figure:
    """Several measurements of one thing.

    Attributes:
        value: Their median.
        least: The least of them.
        most: The greatest of them.
    """

    value: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """The figure of measurements.

        Raises:
            ValueError: There are none.
        """
        if not values:
            raise ValueError("nothing was measured")
        return cls(median(values), min(values), max(values))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Figure:
    """How many times theirs ours is.

    The value is the ratio of the medians; the spread is that of the ratios of neighbours in time, which a machine that
    slows down changes alike.

    Args:
        ours: Measurements, in the order in which they were made.
        theirs: As many, each made beside the one of the same place.

    Raises:
        ValueError: Their numbers differ, there are none, or one of theirs is zero.
    """
    if not all(theirs):
        raise ValueError("the peer's figure is zero")
    pairs = [one / other for one, other in zip(ours, theirs, strict=True)]
    figure = Figure.of(pairs)
    value = Figure.of(ours).value / Figure.of(theirs).value
    return Figure(value, min(value, figure.least), max(value, figure.most))
