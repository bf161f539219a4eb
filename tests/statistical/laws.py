"""Distributions on whole numbers, computed anew from SPEC §4, and how draws are compared with them.

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
    """A distribution on whole numbers: `chances[k]` is that of `first + k`."""

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
    """Everybody tosses a coin of their own; the chances are those of SPEC §4, computed anew."""
    law = Law(np.ones(1))
    for n, e in zip(people, budgets, strict=True):
        p = 1.0 if e >= threshold else math.expm1(e) / math.expm1(threshold)
        for _ in range(n):
            law += Law(np.array([1 - p, p]))
    return law


def laplace_law(scale: float) -> Law:
    reach = math.ceil(40 * scale)
    return Law(np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale), -reach)


def assert_drawn_from(draws: Ints, law: Law) -> None:
    """Chi-square, after joining neighbouring values that expect too few."""
    places = np.clip(draws - law.first, 0, law.chances.size - 1)
    assert (places == draws - law.first).all(), "a value outside the distribution was drawn"
    seen, due = [0.0], [0.0]
    for count, chance in zip(np.bincount(places, minlength=law.chances.size), law.chances, strict=True):
        if due[-1] >= LEAST_EXPECTED:
            seen.append(0.0)
            due.append(0.0)
        seen[-1] += count
        due[-1] += chance * draws.size
    if due[-1] < LEAST_EXPECTED and len(due) > 1:
        rest_seen, rest_due = seen.pop(), due.pop()
        seen[-1] += rest_seen
        due[-1] += rest_due
    assert len(due) > 1, "too few draws for a test"
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(seen, due, strict=True))
    assert stats.chi2.sf(statistic, len(due) - 1) > FALSE_ALARM


def assert_moments(draws: Ints, law: Law) -> None:
    """Mean and variance, each by a z-test with the exact variance of its estimate."""
    n, variance = draws.size, law.moment(2)
    if variance < 1e-12:
        assert (draws == round(law.mean)).all()
        return
    assert abs(draws.mean() - law.mean) / math.sqrt(variance / n) < LARGEST_Z
    spread = math.sqrt((law.moment(4) - variance**2) / n)
    assert abs(((draws - law.mean) ** 2).mean() - variance) / spread < LARGEST_Z
