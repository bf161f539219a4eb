"""Computes distributions on integers from SPEC §4 alone, and compares draws with them.

Callers fix their seeds, so that nothing fails by chance. With other seeds each comparison would fail in at
most one of 10⁵ runs: statistics are compared with quantiles of 10⁻⁶, no bin expects fewer than 50 draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-6
LARGEST_Z = float(stats.norm.isf(FALSE_ALARM / 2))
LEAST_EXPECTED = 50

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Law:
    """A distribution on integers: `chances[k]` is that of `first + k`."""

    def __init__(self, chances: Floats, first: int = 0) -> None:
        self.chances, self.first = chances / chances.sum(), first
        self.values = first + np.arange(chances.size)
        self.mean = float(self.chances @ self.values)

    def __add__(self, other: Law) -> Law:
        return Law(np.convolve(self.chances, other.chances), self.first + other.first)

    def moment(self, power: int) -> float:
        return float(self.chances @ (self.values - self.mean) ** power)

    def distance_to(self, point: int) -> Law:
        away = np.abs(self.values - point)
        return Law(np.bincount(away, self.chances).astype(np.float64))


def kept_law(people: Sequence[int], budgets: Sequence[float], threshold: float) -> Law:
    """Each person has a coin of their own; the chances are those of SPEC §4, computed independently."""
    law = Law(np.ones(1))
    for n, e in zip(people, budgets, strict=True):
        p = 1.0 if e >= threshold else math.expm1(e) / math.expm1(threshold)
        for _ in range(n):
            law += Law(np.array([1 - p, p]))
    return law


def laplace_law(scale: float) -> Law:
    largest = math.ceil(40 * scale)
    return Law(np.exp(-np.abs(np.arange(-largest, largest + 1)) / scale), -largest)


def chi_square(observed: Ints, expected: Floats, least_expected: float = LEAST_EXPECTED) -> float:
    """The probability of a larger statistic, after joining neighbouring bins that expect too few."""
    counts, means = [0.0], [0.0]
    for count, mean in zip(observed, expected, strict=True):
        if means[-1] >= least_expected:
            counts.append(0.0)
            means.append(0.0)
        counts[-1] += count
        means[-1] += mean
    if means[-1] < least_expected and len(means) > 1:  # the last bin joins the one before
        rest_count, rest_mean = counts.pop(), means.pop()
        counts[-1] += rest_count
        means[-1] += rest_mean
    assert len(means) > 1, "too few draws for a test"
    assert math.isclose(sum(means), sum(counts), rel_tol=1e-9)
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, means, strict=True))
    return float(stats.chi2.sf(statistic, len(means) - 1))


def assert_drawn_from(draws: Ints, law: Law) -> None:
    """Draws follow the law, by chi-square."""
    places = np.clip(draws - law.first, 0, law.chances.size - 1)
    assert (places == draws - law.first).all(), "a value outside the distribution was drawn"
    observed = np.bincount(places, minlength=law.chances.size)
    assert chi_square(observed, law.chances * draws.size) > FALSE_ALARM


def assert_moments(draws: Ints, law: Law) -> None:
    """Mean and variance, each by a z-test with the exact variance of its estimate."""
    n, variance = draws.size, law.moment(2)
    if variance < 1e-12:
        assert (draws == round(law.mean)).all()
        return
    assert abs(draws.mean() - law.mean) / math.sqrt(variance / n) < LARGEST_Z
    spread = math.sqrt((law.moment(4) - variance**2) / n)
    assert abs(((draws - law.mean) ** 2).mean() - variance) / spread < LARGEST_Z
