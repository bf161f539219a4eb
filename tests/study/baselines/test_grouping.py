"""Dynamic grouping of RescueDP: by hand, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.study.baselines.grouping import GroupCandidate, correlation, group_cells


def candidate(cell: int, *last: float, enough: bool = True) -> GroupCandidate:
    return GroupCandidate(cell, np.array(last, float), enough)


def test_by_hand() -> None:
    """Cells that rise together share a group; one that falls, a large one and a new one are alone."""
    groups = group_cells(
        [
            candidate(0, 40, 41, 42),  # predicted 41: large
            candidate(1, 4, 5, 6),
            candidate(2, 1, 2, 3),
            candidate(3, 3, 2, 1),  # falls
            candidate(4, 0, 0, 0, enough=False),
            candidate(5, 10, 20, 24),
        ]
    )
    assert sorted(map(sorted, groups)) == [[0], [1, 2, 5], [3], [4]]


def test_a_full_group_is_closed() -> None:
    """14 + 15 is below 30 and lets 16 in; then the group is full, and the next one opens another."""
    rising = [candidate(k, mean - 1, mean, mean + 1) for k, mean in enumerate((14, 15, 16, 17))]
    assert group_cells(rising) == [[0, 1, 2], [3]]


def test_far_predictions_are_apart() -> None:
    """A difference of 25 is too much, one below it is not."""
    assert group_cells([candidate(0, 0, 1, 2), candidate(1, 25, 26, 27)]) == [[0], [1]]
    assert group_cells([candidate(0, 0, 1, 2), candidate(1, 24.9, 25.9, 26.9)]) == [[0, 1]]


def test_correlation() -> None:
    """That of Pearson; 0 for what stands still."""
    assert correlation(np.array([1.0, 2, 3]), np.array([2.0, 4, 6])) == pytest.approx(1)
    assert correlation(np.array([1.0, 2, 4]), np.array([3.0, 1, 0])) == pytest.approx(
        float(np.corrcoef([1, 2, 4], [3, 1, 0])[0, 1])
    )
    assert correlation(np.ones(3), np.array([1.0, 2, 3])) == 0


@given(st.lists(st.tuples(*[st.floats(-50, 60)] * 3, st.booleans()), max_size=12))
def test_promises(cells: list[tuple[float, float, float, bool]]) -> None:
    """Each cell in one group; large and new ones alone; near the first; full groups take nobody in."""
    candidates = [candidate(k, *last, enough=enough) for k, (*last, enough) in enumerate(cells)]
    groups = group_cells(candidates)
    assert sorted(cell for group in groups for cell in group) == list(range(len(cells)))
    for group in groups:
        means = [float(candidates[cell].last.mean()) for cell in group]
        if len(group) > 1:
            assert all(candidates[cell].enough for cell in group) and max(means) <= 30
            assert all(0 <= mean - means[0] < 25 for mean in means)
            assert all(sum(means[:k]) < 30 for k in range(1, len(means)))
            assert all(correlation(candidates[group[0]].last, candidates[cell].last) > 0.5 for cell in group[1:])
