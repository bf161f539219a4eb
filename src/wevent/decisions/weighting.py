"""Weights people by their budgets and adds noise to the weighted counts.

A person who offers e at threshold θ counts with weight min(1, e/θ) instead of being kept by a coin. The sum moves by
the weight, so that noise of scale s/θ costs that person θ times the weight, at most e, and there is no
variance of sampling. Weights are integer multiples of 2⁻ᵏ, rounded down. SPEC §11, §12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.noise import Noise
from wevent.units import Units, as_fraction

MOST_BITS = 24
"""Weights are integer multiples of 2⁻²⁴, or coarser where sums would not fit."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of rows as integer multiples of 2⁻ᵏ (axes: row); a contrast has negative ones."""

    multiples: Units
    bits: int

    def total(self, sizes: npt.NDArray[np.int64]) -> float:
        """The weights of all registered people together, as a number of people."""
        return float(np.ldexp(np.dot(self.multiples.astype(np.float64), sizes), -self.bits))


def weight_bits(people: int) -> int:
    """The largest k up to 24 at which weighted sums over so many counted people stay below 2⁶¹."""
    return max(0, min(MOST_BITS, 61 - max(people, 1).bit_length()))


def weigh(budgets: Units, threshold: int, bits: int) -> Weights:
    """The weight min(1, e/θ) of each budget.

    Guarantees:
        Weight times threshold is never above the budget, and below it by less than θ·2⁻ᵏ unless the weight is 1.
    """
    capped = np.minimum(budgets, threshold)
    # In two steps, so that no product leaves int64: the quotient is 0 or 1 here, the rest is below θ < 2³⁸.
    quotient, rest = capped // threshold, capped % threshold
    return Weights((quotient << bits) + (rest << bits) // threshold, bits)


def weigh_signed(factors: Floats, budgets: Units, threshold: int, bits: int) -> Weights:
    """Weights near `factors` (from -1 to 1) whose size times the threshold is within the budget."""
    most = weigh(budgets, threshold, bits).multiples
    wanted = np.floor(np.ldexp(np.abs(factors), bits)).astype(np.int64)
    return Weights(np.where(factors < 0, -1, 1) * np.minimum(wanted, most), bits)


def weighted_sums(tally: Tally, weights: Weights, sizes: npt.NDArray[np.int64]) -> Counts:
    """Counts in which each person has their weight, in units of 2⁻ᵏ, without noise: private (axes: cell).

    Guarantees:
        One person's cell moves the sum of one cell by exactly their weight.
        The path taken depends on registered sizes and weights only, never on where people are.
    """
    full = 1 << weights.bits
    others = (weights.multiples != full) & (sizes > 0)
    sums = tally.total() << weights.bits
    if not others.any():
        return sums
    values, which = np.unique(weights.multiples[others], return_inverse=True)
    group = np.full(sizes.size, -1, np.int64)
    group[others] = which
    counts = tally.by_group(group, values.size)
    return sums + np.asarray((values - full) @ counts, np.int64)


def add_noise(sums: Counts, threshold: int, bits: int, sensitivity: int, noise: Noise) -> Counts:
    """Weighted sums plus discrete Laplace noise of scale 2ᵏ·s/θ, rounded up, in every cell (axes: cell).

    Guarantees:
        A person of integer weight A loses at most |A|·2⁻ᵏ·θ by it, whatever the sign.
    """
    return noise.laplace(sums, sensitivity=sensitivity << bits, epsilon=as_fraction(threshold))


def laplace_variance(threshold: int, bits: int, sensitivity: int) -> float:
    """Variance of that noise, in people squared: exact for the discrete Laplace distribution."""
    x = threshold / (1e9 * sensitivity * 2.0**bits)
    return float(2 * np.exp(-x) / np.square(np.expm1(-x)) / 4.0**bits)
