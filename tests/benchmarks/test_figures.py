"""Medians, spreads and ratios."""

import pytest

from benchmarks.figures import Figure, ratio


@pytest.mark.parametrize(
    ("values", "figure"),
    [
        ([3.0], Figure(3.0, 3.0, 3.0)),
        ([5.0, 1.0, 3.0], Figure(3.0, 1.0, 5.0)),
        ([4.0, 1.0, 2.0, 3.0], Figure(2.5, 1.0, 4.0)),
    ],
)
def test_a_figure_is_the_median_with_its_spread(values, figure):
    assert Figure.of(values) == figure


def test_nothing_measured_is_no_figure():
    with pytest.raises(ValueError, match="nothing was measured"):
        Figure.of([])


def test_a_ratio_is_that_of_the_medians_with_the_spread_of_neighbours():
    # The machine slowed down to a half in the middle: neighbours are slowed down alike.
    assert ratio([200.0, 100.0, 100.0], [100.0, 50.0, 40.0]) == Figure(2.0, 2.0, 2.5)


def test_the_spread_holds_the_ratio():
    found = ratio([1.0, 2.0, 9.0], [2.0, 4.0, 1.0])
    assert found.least <= found.value <= found.most


@pytest.mark.parametrize(("ours", "theirs"), [([1.0], [1.0, 2.0]), ([], []), ([1.0], [0.0])])
def test_what_cannot_be_paired_is_refused(ours, theirs):
    with pytest.raises(ValueError, match=r"."):
        ratio(ours, theirs)
