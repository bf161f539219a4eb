"""What a release says about its own error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wevent.decisions.estimators import standard_error
from wevent.decisions.selection import Selection, choose_threshold
from wevent.releases.release import Decision, ExpectedError, Release, expected_error

counts_of = st.lists(st.integers(-50, 10**6), min_size=1, max_size=20)


def selection(threshold: int, variance: float = 0.0, squared_bias: float = 0.0) -> Selection:
    noise = 2 / (threshold / 1e9) ** 2
    return Selection(threshold, variance, squared_bias, noise, least=threshold, budgets=np.array([threshold]))


@given(counts_of, st.integers(10**6, 10**11), st.integers(1, 4))
@settings(deadline=None)
def test_without_sampling_every_cell_has_the_noise_alone(counts: list[int], units: int, s: int) -> None:
    """The variance of discrete Laplace noise of scale s/θ: 2q/(1-q)² with q = exp(-θ/s)."""
    found = standard_error(np.array(counts), selection(units), s)
    q = math.exp(-units / (1e9 * s))
    assert found == pytest.approx(np.full(len(counts), math.sqrt(2 * q) / (1 - q)), rel=1e-6)


@given(counts_of, st.floats(0, 1e6), st.floats(0, 1e6))
@settings(deadline=None)
def test_lost_people_stand_where_people_are(counts: list[int], variance: float, squared_bias: float) -> None:
    """Sampling error is shared out by the released counts: its parts add up, and nothing falls on empty cells."""
    chosen = selection(10**9, variance, squared_bias)
    found = standard_error(np.array(counts), chosen, 1) ** 2
    noise = standard_error(np.zeros(1, np.int64), selection(10**9), 1)[0] ** 2
    positive = np.maximum(counts, 0)
    if positive.any():
        share = positive / positive.sum()
        assert found - noise == pytest.approx(variance * share + squared_bias * share**2, rel=1e-6, abs=1e-6)
    else:
        assert (found == found[0]).all()
    assert (found >= noise * (1 - 1e-9)).all()


def test_expected_error_in_three_parts() -> None:
    """The parts of the selection, and their sum; nothing if nothing was on offer."""
    chosen = choose_threshold(np.array([4, 8, 1]) * 10**8, np.array([5, 3, 2]), 1)
    error = expected_error(chosen)
    assert error == ExpectedError(chosen.variance, chosen.squared_bias, chosen.noise)
    assert error is not None and error.total == chosen.error
    assert expected_error(choose_threshold(np.array([0]), np.array([2]), 1)) is None


def test_reprs_show_no_counts() -> None:
    """Neither counts nor errors are in the repr of a release."""
    shown = repr(Release(3, np.array([41]), Decision.PUBLISHED, 0.5, np.array([1.5]), None))
    assert shown == "Release(slot=3, decision=<Decision.PUBLISHED: 'published'>, threshold=0.5)"


def test_decisions_are_words() -> None:
    """Decisions are their own words, for tables and logs."""
    assert [str(decision) for decision in Decision] == ["published", "skipped", "nullified", "lost"]
