"""Samples people by their budgets: the sample mechanism (SM).

A person who offers at least the threshold is kept. A coin keeps each of the others with a probability that makes up for
the smaller offer. SPEC §4, §7, [Jorgensen15].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.selection import REMEMBERED, Selection
from wevent.noise import PROBABILITY_BITS, Noise
from wevent.units import NANO, Units, as_fraction

_PER_PERSON = 5
"""With fewer people per (budget, cell) than this, one coin per person is cheaper than a draw per (budget, cell)."""


def keep_probabilities(budgets: Units, threshold: int) -> npt.NDArray[np.int64]:
    """Probability to keep a person of each budget, as a multiple of 2⁻⁶².

    Guarantees:
        It is never above expm1(e)/expm1(θ), and below it by less than 2⁻⁴² of it and one step of 2⁻⁶² together.
        It is 1 for budgets from the threshold on, 0 for a budget of 0.
    """
    below = np.minimum(budgets, threshold)
    e, theta = below / NANO, threshold / NANO
    p = np.exp((below - threshold) / NANO) * np.expm1(-e) / np.expm1(-theta)
    # 2⁻⁴⁴ covers the rounding of the doubles, so that the product is never above the exact value.
    rounded = np.floor(np.ldexp(p * (1 - 2.0**-44), PROBABILITY_BITS)).astype(np.int64)
    return np.where(budgets >= threshold, np.int64(1) << PROBABILITY_BITS, rounded)


def keep_people(tally: Tally, selection: Selection, sizes: npt.NDArray[np.int64], noise: Noise) -> Counts:
    """Histogram of the people who are kept at the threshold, without noise: private (axes: cell).

    Guarantees:
        Each person is kept independently, with the probability of `keep_probabilities` for their budget; where
        several cells per person are declared, each of them is kept or not by a coin of its own, which
        costs no more (SPEC §11, Jensen).
        The path taken depends on registered sizes and budgets only, never on where people are.
    """
    total = tally.total()
    plan = None if selection.threshold <= selection.least else _plan(selection, sizes)
    if plan is None:
        return total
    many = plan.probabilities.size
    if many * total.size * _PER_PERSON > plan.people:
        single = tally.singly(plan.group)
        if single is not None:
            groups, cells = single
            lost = ~noise.bernoulli(plan.probabilities[groups])
            return total - np.bincount(cells[lost], minlength=total.size)
    counts = tally.by_group(plan.group, many)
    kept = noise.binomial(counts, plan.probabilities[:, None])
    return total - (counts - kept).sum(axis=0)


@dataclass(frozen=True, slots=True)
class _SamplingPlan:
    """Whom to sample: the group of each row, -1 if its people are kept for certain, and each group's probability."""

    group: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.int64]
    people: int


def _plan(selection: Selection, sizes: npt.NDArray[np.int64]) -> _SamplingPlan | None:
    """Whom to sample at the threshold; None if all people are kept."""
    budgets = selection.budgets
    if budgets.size <= REMEMBERED:  # measuring change offers the same budgets in every slot
        return _plan_again(budgets.tobytes(), sizes.tobytes(), selection.threshold)
    return _make_plan(budgets, sizes, selection.threshold)


@lru_cache(maxsize=16)
def _plan_again(budgets: bytes, sizes: bytes, threshold: int) -> _SamplingPlan | None:
    return _make_plan(np.frombuffer(budgets, np.int64), np.frombuffer(sizes, np.int64), threshold)


def _make_plan(budgets: Units, sizes: npt.NDArray[np.int64], threshold: int) -> _SamplingPlan | None:
    sampled = (budgets < threshold) & (sizes > 0)
    if not sampled.any():
        return None
    values, which = np.unique(budgets[sampled], return_inverse=True)
    group = np.full(sizes.size, -1, np.int64)
    group[sampled] = which
    return _SamplingPlan(group, keep_probabilities(values, threshold), int(sizes[sampled].sum()))


def sample(tally: Tally, selection: Selection, sizes: npt.NDArray[np.int64], sensitivity: int, noise: Noise) -> Counts:
    """The published counts: kept people plus discrete Laplace noise of scale s/θ in every cell (axes: cell).

    Guarantees:
        A person who offered e loses at most e by it, whatever the budgets of the others are.
    """
    kept = keep_people(tally, selection, sizes, noise)
    return noise.laplace(kept, sensitivity=sensitivity, epsilon=as_fraction(selection.threshold))
