"""Counts scaled up from weights: budgets and a tally come in, counts with the noise of the mean budget go out.

Everybody counts in proportion to what they offer, and the sum is scaled by registered people over registered weights.
The noise is that of the *mean* budget instead of the least. The counts are right in the mean if what people ask
for says nothing about where they are. A contrast between strict and lenient people, measured privately with a
tenth of the budget, finds out by how much that is wrong (`releases.contrast` gathers what it says).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent.cohorts.histogram import RowTally, Tally
from wevent.decisions.estimators import Contrast, Evidence, Floats, Sizes, before, nothing, one_by_one
from wevent.decisions.selection import Crowding, Selection, floor_to_steps, grades
from wevent.decisions.weighting import (
    add_noise,
    laplace_variance,
    weigh,
    weigh_signed,
    weight_bits,
    weighted_sums,
)
from wevent.noise import Noise
from wevent.settings import has_numba
from wevent.units import MAX_EPSILON, NANO, Units

ASSUMPTION = "what people ask for says nothing about where they are"

_LENIENT = 0.1
"""At least this share of people offers the largest threshold or more, so that a few cannot outvote all."""

_ALIKE = 1e-6
"""With less leverage than this, everybody counts alike and there is nothing to contrast."""

_FEW = 4096
"""Rows up to which several offers are sorted as they are."""


class Pooled:
    """Everybody counts in proportion to their budget, up to a cap; the sum is scaled to all registered people.

    Guarantees:
        The noise is that of the mean over people of min(e, θ).
        Unbiased if what people ask for says nothing about where they are; `assumption` says so.
        At least a tenth of all people offer θ or more.
    """

    name: ClassVar[str] = "pooled"
    assumption: ClassVar[str | None] = ASSUMPTION
    whole: ClassVar[bool] = False

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Selection:
        """The cap of least error: noise, and the variance of counting some people more than others."""
        if not budgets.any():
            return nothing(budgets)
        values, people, bits = grades(budgets, sizes, has_numba())
        if not (values > 0).any():
            return nothing(budgets)
        n = int(people.sum())
        crowding = Crowding(_scatter(public, n), 0.0)
        caps = _caps(values / NANO, people, sensitivity, crowding)
        best = int(caps.best)
        if bits is not None:
            budgets = floor_to_steps(budgets, bits)
        variance, noise = float(caps.uneven[best] * n), float(caps.noise[best])
        return Selection(int(values[best]), variance, 0.0, noise, budgets, int(values[0]), crowding)

    def foresee(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Floats:
        """The error of each of several offers, all at once."""
        there = sizes > 0
        if budgets.shape[1] > _FEW or not there.any():
            return one_by_one(self, budgets, sizes, sensitivity, public)
        order = np.argsort(budgets[:, there], axis=1)
        values = np.take_along_axis(budgets[:, there], order, axis=1)
        crowding = Crowding(_scatter(public, int(sizes.sum())), 0.0)
        caps = _caps(values / NANO, sizes[there][order], sensitivity, crowding)
        return np.take_along_axis(caps.error, caps.best[:, None], axis=1)[:, 0]

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Floats | None
    ) -> Evidence:
        """Weighted sums plus noise, scaled by registered people over registered weights."""
        return _pooled(tally, selection, sizes, sensitivity, noise, public)


class PooledWithContrast:
    """`Pooled` with nine tenths of every budget; a tenth measures how strict and lenient people differ.

    Guarantees:
        A person loses at most nine tenths of their budget by the counts and a tenth by the contrast.
        If anybody has no budget, no contrast is measured in that slot.
    """

    name: ClassVar[str] = "pooled with contrast"
    assumption: ClassVar[str | None] = ASSUMPTION + ", until the contrast has found out by how much that is wrong"
    whole: ClassVar[bool] = False

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Selection:
        """As `Pooled`, from nine tenths of every budget; `Selection.budgets` are those nine tenths."""
        return Pooled().choose(budgets * 9 // 10, sizes, sensitivity, public)

    def foresee(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Floats:
        """The error of each of several offers, all at once."""
        return Pooled().foresee(budgets * 9 // 10, sizes, sensitivity, public)

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Floats | None
    ) -> Evidence:
        """Pooled counts, and beside them the contrast."""
        tally, selection, sizes = _by_budget(tally, selection, sizes)  # counted once for both
        evidence = _pooled(tally, selection, sizes, sensitivity, noise, public)
        contrast = _contrast(tally, selection, sizes, sensitivity, noise)
        return Evidence(evidence.counts, evidence.variance, contrast)


@dataclass(frozen=True, slots=True)
class _Caps:
    """For every budget as the cap: variance of the noise, Σ u² / n, both as error; and which is best."""

    noise: Floats
    uneven: Floats
    error: Floats
    best: npt.NDArray[np.int64]


def _caps(e: Floats, people: Sizes, sensitivity: int, crowding: Crowding) -> _Caps:
    """All caps at once; budgets ascend along the last axis, equal ones do no harm."""
    n = people.sum(axis=-1, keepdims=True).astype(np.float64)
    at_least = n - before(people)  # people who offer this much or more
    # Σ min(e, θ) and Σ min(e, θ)² over people, for every θ
    sums = before(people * e) + at_least * e
    squares = before(people * e * e) + at_least * e * e
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = 2.0 * np.square(sensitivity * n / sums)
        uneven = np.maximum(n * squares / np.square(sums) - 1.0, 0.0)
        error = np.where(e > 0, noise + uneven * n * crowding.variance, np.inf)
    # Where hardly anybody has any budget, the lowest cap there is.
    open_to = (at_least >= _LENIENT * n) | (np.cumsum(e > 0, axis=-1) == 1)
    return _Caps(noise, uneven, error, np.argmin(np.where(open_to, error, np.inf), axis=-1))


def _scatter(public: Floats | None, people: int) -> float:
    """Mean over cells of p(1-p), p being the probability that a person is there; at most 1/4."""
    if public is None:
        return 0.25
    p = np.minimum(np.maximum(public, 0.0) / max(people, 1), 1.0)
    return float((p * (1 - p)).mean())


def _by_budget(tally: Tally, selection: Selection, sizes: Sizes) -> tuple[Tally, Selection, Sizes]:
    """The same people in one row for each different budget."""
    there = sizes > 0
    budgets, which = np.unique(selection.budgets[there], return_inverse=True)
    group = np.full(sizes.size, -1, np.int64)
    group[there] = which
    people = np.zeros(budgets.size, np.int64)
    np.add.at(people, which, sizes[there])
    return RowTally(tally.by_group(group, budgets.size)), replace(selection, budgets=budgets), people


def _pooled(
    tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Floats | None
) -> Evidence:
    theta, people = selection.threshold, int(sizes.sum())
    bits = weight_bits(people * sensitivity)
    weights = weigh(selection.budgets, theta, bits)
    noisy = add_noise(weighted_sums(tally, weights, sizes), theta, bits, sensitivity, noise)
    scale = people / weights.total(sizes)
    counts = np.ldexp(noisy.astype(np.float64), -bits) * scale
    p = np.clip((counts if public is None else public) / people, 0.0, 1.0)
    variance = laplace_variance(theta, bits, sensitivity) * scale**2 + selection.variance * p * (1 - p)
    return Evidence(counts, variance)


def _contrast(tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise) -> Contrast | None:
    """Σ u x with noise, within a ninth of what the counts cost; None if all count alike or somebody has no budget."""
    people, there = int(sizes.sum()), sizes > 0
    bits = weight_bits(people * sensitivity)
    weights = weigh(selection.budgets, selection.threshold, bits)
    budgets = selection.budgets // 9  # nine tenths are at most 9/10, so a ninth of them is at most the tenth left
    u = np.where(there, np.ldexp(weights.whole.astype(np.float64), -bits) * people / weights.total(sizes) - 1.0, 0.0)
    largest, leverage = float(np.abs(u).max()), float(np.dot(u * u, sizes)) / people
    moved = there & (u != 0)
    if leverage < _ALIKE or not moved.any():
        return None
    factors = u / largest
    allowed = np.floor(budgets[moved] / np.abs(factors[moved]))
    theta = int(min(allowed.min(), MAX_EPSILON * NANO))
    if theta < 1:
        return None
    signed = weigh_signed(factors, budgets, theta, bits)
    noisy = add_noise(weighted_sums(tally, signed, sizes), theta, bits, sensitivity, noise)
    scale = largest / leverage  # Σ u x over Σ u², times n
    slope = np.ldexp(noisy.astype(np.float64), -bits) * scale
    return Contrast(slope, laplace_variance(theta, bits, sensitivity) * scale**2, leverage)
