"""Metrics, against values worked out by hand and by other means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from wevent.errors import UnknownName
from wevent.study.metrics import METRICS, Scorer, awd_plane, known_metric

counts = arrays(np.float64, (3, 5), elements=st.integers(-20, 50).map(float))
true_counts = arrays(np.float64, (3, 5), elements=st.integers(0, 50).map(float))


def test_by_hand() -> None:
    """One slot of four cells: truth 10, 0, 5, 85; released 12, -4, 5, 80."""
    true, released = np.array([[10.0, 0, 5, 85]]), np.array([[12.0, -4, 5, 80]])
    assert METRICS["amre"](true, released)[0] == (4 + 16 + 0 + 25) / 4
    assert METRICS["mae"](true, released)[0] == (2 + 4 + 0 + 5) / 4
    # MRE divides by max(c, 1 % of 100, 1).
    assert METRICS["mre"](true, released)[0] == pytest.approx((2 / 10 + 4 / 1 + 0 + 5 / 85) / 4)
    share, seen = np.array([0.1, 0, 0.05, 0.85]), np.array([12, 0, 5, 80]) / 97
    assert METRICS["awd"](true, released)[0] == pytest.approx(np.abs(np.cumsum(seen - share)).sum())


def test_small_counts_are_held_against_a_hundredth_of_the_total() -> None:
    """With 10,000 people a cell of nobody is compared with 100."""
    assert METRICS["mre"](np.array([[10_000.0, 0]]), np.array([[10_000.0, 50]]))[0] == pytest.approx(0.25)


@given(true=true_counts, released=counts)
def test_divergence_and_distance_agree_with_scipy(true: np.ndarray, released: np.ndarray) -> None:
    """AJSD is the squared Jensen-Shannon distance; AWD the Wasserstein distance over the cell index."""
    for t, r, divergence, distance in zip(
        true, released, METRICS["ajsd"](true, released), METRICS["awd"](true, released), strict=True
    ):
        p, q = (np.ones(5) / 5 if not x.clip(0).any() else x.clip(0) / x.clip(0).sum() for x in (t, r))
        assert divergence == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-9)
        assert distance == pytest.approx(wasserstein_distance(np.arange(5), np.arange(5), p, q), abs=1e-9)


def test_the_raw_divergence_is_what_was_printed() -> None:
    """½Σ r ln(r/v) + ½Σ c ln(c/v) on counts; terms with 0 are dropped, negative counts set to 0."""
    true, released = np.array([[8.0, 0, 2]]), np.array([[4.0, -3, 6]])
    expected = 0.5 * (4 * np.log(4 / 6) + 6 * np.log(6 / 4)) + 0.5 * (8 * np.log(8 / 6) + 2 * np.log(2 / 4))
    assert METRICS["ajsd_raw"](true, released)[0] == pytest.approx(expected)


@given(true=true_counts, released=counts)
def test_on_one_row_of_cells_the_plane_is_the_line(true: np.ndarray, released: np.ndarray) -> None:
    """A grid of one row, or one column, has the distance over the index."""
    line = METRICS["awd"](true, released)
    assert awd_plane(1, 5)(true, released) == pytest.approx(line, abs=1e-9)
    assert awd_plane(5, 1)(true, released) == pytest.approx(line, abs=1e-9)


def test_on_the_plane_neighbours_are_near_in_both_directions() -> None:
    """All people one row further down: distance 1 on the plane, a whole row of cells over the index."""
    true, released = np.zeros((1, 12)), np.zeros((1, 12))
    true[0, 1], released[0, 5] = 7, 3  # a grid of 3 rows and 4 columns
    assert awd_plane(3, 4)(true, released) == pytest.approx([1.0])
    assert METRICS["awd"](true, released) == pytest.approx([4.0])


@given(true=arrays(np.float64, (7, 3), elements=st.integers(0, 9).map(float)), block=st.integers(1, 9))
def test_blocks_change_nothing(true: np.ndarray, block: int) -> None:
    """The mean over all slots is the same however many are in memory at a time, one by one or all at once."""
    released = np.roll(true, 1, axis=0)
    by_slot, at_once = (Scorer(list(METRICS), block=block) for _ in range(2))
    plain = Scorer(list(METRICS))
    for t, r in zip(true, released, strict=True):
        by_slot.add(t, r)
    at_once.add_all(true, released)
    plain.add_all(true, released)
    assert by_slot.errors().slots == at_once.errors().slots == 7
    for name, value in plain.errors().means.items():
        assert by_slot.errors().means[name] == pytest.approx(value) == at_once.errors().means[name]
        assert value == pytest.approx(METRICS[name](true, released).mean())


def test_a_histogram_of_nobody_counts_as_uniform() -> None:
    """Released as all negative, it is taken for the uniform one."""
    assert METRICS["awd"](np.array([[1.0, 1.0]]), np.array([[-5.0, -1.0]]))[0] == 0
    assert METRICS["ajsd"](np.array([[0.0, 0.0]]), np.array([[3.0, 3.0]]))[0] == 0


def test_unknown_metrics_are_refused_with_the_known_ones() -> None:
    """The error lists the names; the plane needs a grid."""
    with pytest.raises(UnknownName, match="amre, mae, mre, ajsd, ajsd_raw, awd"):
        known_metric("rmse")
    with pytest.raises(UnknownName):
        known_metric("awd_plane")
    assert known_metric("awd_plane", (2, 2)) is not None
