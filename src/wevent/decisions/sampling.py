"""The sample mechanism (SM): a tally and budgets come in, the histogram of the people who are kept goes out.

Whoever offers at least the threshold is kept; the others are kept by a coin that makes up for what
they do not offer. SPEC §4, §7, [Jorgensen15].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.selection import Selection
from wevent.noise import PROBABILITY_BITS, Noise
from wevent.units import NANO, Units, as_fraction

_PER_PERSON = 5
"""One coin per person is cheaper than a draw per (budget, cell) with fewer people per draw than this."""


def keep_probabilities(budgets: Units, threshold: int) -> npt.NDArray[np.int64]:
    """Probability to keep somebody of each budget, as a multiple of 2⁻⁶².

    Guarantees:
        Never above expm1(e)/expm1(θ), and below it by less than 2⁻⁴² of it and one step of 2⁻⁶² together.
        Certain for budgets from the threshold on, 0 for a budget of 0.
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
        Everybody is kept independently, with the probability of `keep_probabilities` for their budget; where
        several cells per person are declared, each of them is kept or not by a coin of its own, which
        costs no more (SPEC §11, Jensen).
        Which way is taken depends on registered sizes and budgets only, never on who is where.
    """
    total = tally.total()
    if selection.threshold <= selection.least:
        return total
    sampled = (selection.budgets < selection.threshold) & (sizes > 0)
    if not sampled.any():
        return total
    values, which = np.unique(selection.budgets[sampled], return_inverse=True)
    probabilities = keep_probabilities(values, selection.threshold)
    group = np.full(sizes.size, -1, np.int64)
    group[sampled] = which
    people = int(sizes[sampled].sum())
    if values.size * total.size * _PER_PERSON > people:
        single = tally.singly(group)
        if single is not None:
            groups, cells = single
            lost = ~noise.bernoulli(probabilities[groups])
            return total - np.bincount(cells[lost], minlength=total.size)
    counts = tally.by_group(group, values.size)
    kept = noise.binomial(counts, np.broadcast_to(probabilities[:, None], counts.shape))
    return total - (counts - kept).sum(axis=0)


def sample(tally: Tally, selection: Selection, sizes: npt.NDArray[np.int64], sensitivity: int, noise: Noise) -> Counts:
    """The published counts: kept people plus discrete Laplace noise of scale s/θ in every cell (axes: cell).

    Guarantees:
        A person who offered e loses at most e by it, however the others' budgets lie.
    """
    kept = keep_people(tally, selection, sizes, noise)
    return noise.laplace(kept, sensitivity=sensitivity, epsilon=as_fraction(selection.threshold))
