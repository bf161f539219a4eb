"""Counts scaled up from weights: budgets and a tally come in, counts with the noise of the mean budget go out.

Everybody counts in proportion to what they offer, and the sum is scaled by registered people over registered weights.
The noise is that of the *mean* budget instead of the least. The counts are right in the mean if what people ask
for says nothing about where they are. A contrast between strict and lenient people, measured privately with a
tenth of the budget, finds out by how much that is wrong (`releases.contrast` gathers what it says).
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from wevent.cohorts.histogram import Tally
from wevent.decisions.estimators import Contrast, Evidence, Floats, Sizes, before
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


class Pooled:
    """Everybody counts in proportion to their budget, up to a cap; the sum is scaled to all registered people.

    Guarantees:
        The noise is that of the mean over people of min(e, θ).
        Unbiased if what people ask for says nothing about where they are; `assumption` says so.
        At least a tenth of all people offer θ or more.
    """

    name: ClassVar[str] = "pooled"
    assumption: ClassVar[str | None] = ASSUMPTION

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Selection:
        """The cap of least error: noise, and the variance of counting some people more than others."""
        values, people, bits = grades(budgets, sizes, has_numba())
        if not (values > 0).any():
            return Selection(0, 0.0, 0.0, math.inf, budgets)
        n = float(people.sum())
        e = values / NANO
        at_least = n - before(people)  # people who offer this much or more
        open_to = (values > 0) & (at_least >= _LENIENT * n)
        # Σ min(e, θ) and Σ min(e, θ)² over people, for every θ at once
        sums = before(people * e) + at_least * e
        squares = before(people * e * e) + at_least * e * e
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = 2.0 * np.square(sensitivity * n / sums)
            uneven = np.maximum(n * squares / np.square(sums) - 1.0, 0.0)  # Σ u² / n
        level = n if public is None else float(np.clip(public, 0.0, None).sum())
        crowding = Crowding(level / n / (1 if public is None else public.size), 0.0)
        if not open_to.any():  # hardly anybody has any budget left
            open_to = values == values[values > 0][0]
        best = int(np.argmin(np.where(open_to, noise + uneven * n * crowding.variance, np.inf)))
        if bits is not None:
            budgets = floor_to_steps(budgets, bits)
        variance = float(uneven[best] * n)
        return Selection(int(values[best]), variance, 0.0, float(noise[best]), budgets, int(values[0]), crowding)

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Floats | None
    ) -> Evidence:
        """Weighted sums plus noise, scaled by registered people over registered weights."""
        return _pooled(tally, selection, sizes, sensitivity, noise)


class PooledWithContrast:
    """`Pooled` with nine tenths of every budget; a tenth measures how strict and lenient people differ.

    Guarantees:
        A person loses at most nine tenths of their budget by the counts and a tenth by the contrast.
        If anybody has no budget, no contrast is measured in that slot.
    """

    name: ClassVar[str] = "pooled with contrast"
    assumption: ClassVar[str | None] = ASSUMPTION + ", until the contrast has found out by how much that is wrong"

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Floats | None) -> Selection:
        """As `Pooled`, from nine tenths of every budget; `Selection.budgets` are those nine tenths."""
        return Pooled().choose(budgets * 9 // 10, sizes, sensitivity, public)

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Floats | None
    ) -> Evidence:
        """Pooled counts, and beside them the contrast."""
        evidence = _pooled(tally, selection, sizes, sensitivity, noise)
        contrast = _contrast(tally, selection, sizes, sensitivity, noise)
        return Evidence(evidence.counts, evidence.variance, contrast)


def _pooled(tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise) -> Evidence:
    theta, people = selection.threshold, int(sizes.sum())
    bits = weight_bits(people * sensitivity)
    weights = weigh(selection.budgets, theta, bits)
    noisy = add_noise(weighted_sums(tally, weights, sizes), theta, bits, sensitivity, noise)
    scale = people / weights.total(sizes)
    counts = np.ldexp(noisy.astype(np.float64), -bits) * scale
    level = np.clip(counts, 0.0, people)
    variance = laplace_variance(theta, bits, sensitivity) * scale**2 + selection.variance * level / people
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
