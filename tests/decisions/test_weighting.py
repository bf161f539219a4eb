"""Weights are integers, never above the offered budget, and add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wevent.cohorts.histogram import PersonTally, RowTally
from wevent.decisions.weighting import (
    MOST_BITS,
    Weights,
    laplace_variance,
    weigh,
    weigh_signed,
    weight_bits,
    weighted_sums,
)
from wevent.units import MAX_EPSILON, NANO

budget = st.integers(0, MAX_EPSILON * NANO)
threshold = st.integers(1, MAX_EPSILON * NANO)
bits = st.integers(0, MOST_BITS)


@given(st.lists(budget, min_size=1, max_size=8), threshold, bits)
def test_a_weight_costs_at_most_the_budget(budgets: list[int], theta: int, k: int) -> None:
    """A·θ ≤ e·2ᵏ exactly, and A is the largest such number up to 2ᵏ."""
    found = weigh(np.array(budgets), theta, k).multiples.tolist()
    for e, A in zip(budgets, found, strict=True):
        assert A * theta <= e << k
        assert 1 << k == A or (A + 1) * theta > e << k


@given(st.lists(st.tuples(st.floats(-1, 1), budget), min_size=1, max_size=8), threshold, bits)
def test_a_signed_weight_costs_at_most_the_budget(given_: list[tuple[float, int]], theta: int, k: int) -> None:
    """|A|·θ ≤ e·2ᵏ exactly, whatever the sign, and |A| is never above the wanted factor."""
    factors, budgets = np.array([f for f, _ in given_]), np.array([e for _, e in given_])
    for f, e, A in zip(
        factors, budgets.tolist(), weigh_signed(factors, budgets, theta, k).multiples.tolist(), strict=True
    ):
        assert abs(A) * theta <= e << k
        assert Fraction(abs(A), 1 << k) <= Fraction(abs(float(f)))
        assert A == 0 or (A < 0) == (f < 0)


@given(st.integers(0, 2**62))
def test_sums_fit(people: int) -> None:
    """Twice the weights of so many people, of either sign, stay within int64."""
    k = weight_bits(people)
    assert k == 0 or people << (k + 1) < 2**63


@given(st.data())
def test_sums_are_exact(data: st.DataObject) -> None:
    """Counts per row and people one by one give the same sums: those of integers."""
    rows, cells = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    weights = np.array(data.draw(st.lists(st.integers(-(2**24), 2**24), min_size=rows, max_size=rows)))
    where = np.array(data.draw(st.lists(st.integers(-1, cells - 1), min_size=2 * rows, max_size=2 * rows)))
    row_of = np.repeat(np.arange(rows), 2)
    counts = np.zeros((rows, cells), np.int64)
    np.add.at(counts, (row_of[where >= 0], where[where >= 0]), 1)
    sizes = np.full(rows, 2)
    expected = [sum(int(A) * int(c) for A, c in zip(weights, column, strict=True)) for column in counts.T]
    for tally in (RowTally(counts), PersonTally(row_of, where, {}, counts.sum(axis=0))):
        assert weighted_sums(tally, Weights(weights, 24), sizes).tolist() == expected


def test_total_of_weights() -> None:
    """Three people who count half and one who counts in full are two and a half people."""
    assert Weights(np.array([1 << 3, 1 << 4]), 4).total(np.array([3, 1])) == 2.5


def test_variance_of_the_noise() -> None:
    """Of large scales 2(s/θ)² whatever the bits; without bits that of the discrete distribution."""
    for k in (0, 10, 24):
        assert np.isclose(laplace_variance(NANO // 1000, k, 2), 2 * 2000.0**2, rtol=1e-5)
    q = np.exp(-1.0)
    assert np.isclose(laplace_variance(NANO, 0, 1), 2 * q / (1 - q) ** 2)
