"""Selects the threshold of least expected error among the budgets on offer: optimal budget selection (OBS).

A low threshold keeps all people and needs much noise; a high one needs little noise and loses people who offer
less. SPEC §3, [Du25] Alg. 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wevent.settings import has_numba
from wevent.units import NANO, Units

MOST_DISTINCT = 1024
"""With more different budgets than this, they are rounded down to logarithmic steps first."""

_FEW = 48
"""With at most so many rows, Python numbers are quicker than arrays."""

REMEMBERED = 256
"""With at most so many rows, the last selections are cached: the next slot may offer the same."""


@dataclass(frozen=True, slots=True)
class Concentration:
    """How much of the loss falls on one cell, in the mean over cells: factors for variance and squared bias.

    Factors of 1 are the worst case: all lost people stand in one cell, and the error is that of this cell.
    """

    variance: float = 1.0
    squared_bias: float = 1.0


WORST = Concentration()


def worst(public: npt.NDArray[np.float64] | None, people: int) -> Concentration:
    """All lost people stand in one cell, whatever is public."""
    return WORST


def expected(public: npt.NDArray[np.float64] | None, people: int) -> Concentration:
    """Lost people stand in proportion to the public counts (axes of `public`: cell).

    Guarantees:
        It is a function of released counts and registered people and costs no budget.
        It is never above the worst case, and is the worst case before the first publication.
    """
    if public is None or people < 1:
        return WORST
    share = np.clip(public / people, 0.0, 1.0)
    return Concentration(float(share.mean()), float(np.square(share).mean()))


@dataclass(frozen=True, slots=True)
class Selection:
    """The threshold of least expected squared error per cell, and the three parts of that error.

    Attributes:
        threshold: in units; 0 if nobody has any budget, and then the error is infinite.
        variance: of sampling, Σ n p (1-p).
        squared_bias: (Σ n (1-p))², with all lost people in one cell.
        noise: 2 s²/θ².
        budgets: the budget by which each row is sampled, rounded down if there are too many different ones.
        least: the least budget of any person, or 0; a threshold that is not above it keeps all people.
        concentration: how much of variance and squared bias counts in `error`.
    """

    threshold: int
    variance: float
    squared_bias: float
    noise: float
    budgets: Units = field(repr=False, compare=False)
    least: int = field(default=0, repr=False)
    concentration: Concentration = field(default=WORST, repr=False)

    @property
    def error(self) -> float:
        """Expected squared error of a cell: at most, or in the mean over cells, depending on the concentration."""
        return (
            self.variance * self.concentration.variance
            + self.squared_bias * self.concentration.squared_bias
            + self.noise
        )


def choose_threshold(
    budgets: Units,
    sizes: npt.NDArray[np.int64],
    sensitivity: int,
    *,
    concentration: Concentration = WORST,
    fast: bool | None = None,
) -> Selection:
    """The threshold of least error among the positive budgets, the smallest on a tie.

    Args:
        budgets: on offer, in units (axes: row).
        sizes: registered people per row; empty rows do not count (axes: row).
        sensitivity: how far one person's rows can move the histogram, in L1.
        concentration: how much of the loss falls on one cell; by default all of it.
        fast: use numba for many rows; by default if it is installed.

    Guarantees:
        The error is the least over all positive budgets, to floating-point accuracy.
        People with budget 0 count as lost.
    """
    if budgets.size <= REMEMBERED:
        return _choose_cached(budgets.tobytes(), sizes.tobytes(), sensitivity, concentration)
    return _choose(budgets, sizes, sensitivity, concentration, has_numba() if fast is None else fast)


@lru_cache(maxsize=16)
def _choose_cached(budgets: bytes, sizes: bytes, sensitivity: int, concentration: Concentration) -> Selection:
    """With few rows, cached selections: measuring change offers the same budgets in every slot."""
    offered, people = np.frombuffer(budgets, np.int64), np.frombuffer(sizes, np.int64)
    if offered.size <= _FEW:
        return _choose_few(offered, people, sensitivity, concentration)
    return _choose(offered, people, sensitivity, concentration, fast=False)


def _choose_few(
    budgets: Units, sizes: npt.NDArray[np.int64], sensitivity: int, concentration: Concentration
) -> Selection:
    """The scan of `_losses` in Python numbers, which is quicker for a few rows."""
    people: dict[int, int] = {}
    for value, size in zip(budgets.tolist(), sizes.tolist(), strict=True):
        if size > 0:
            people[value] = people.get(value, 0) + size
    values = sorted(people)
    best = Selection(0, 0.0, 0.0, math.inf, budgets)
    N = P = V = D = 0.0
    before = 0
    for k, value in enumerate(values):
        if k and value > 0:
            step, e = (value - before) / NANO, value / NANO
            c = math.expm1(-step) / math.expm1(-e)
            r = math.exp(-step) * math.expm1(-before / NANO) / math.expm1(-e)
            N += people[before]
            P += people[before]
            V = r * r * V + r * c * P
            D = r * D + c * N
            P *= r
        before = value
        if value > 0:
            noise = 2.0 * (sensitivity * NANO / value) ** 2
            if V * concentration.variance + D * D * concentration.squared_bias + noise < best.error:
                best = Selection(value, V, D * D, noise, budgets, values[0], concentration)
    return best


def _choose(
    budgets: Units, sizes: npt.NDArray[np.int64], sensitivity: int, concentration: Concentration, fast: bool
) -> Selection:
    values, people, bits = distinct_budgets(budgets, sizes, fast)
    positive = values > 0
    if not positive.any():
        return Selection(0, 0.0, 0.0, math.inf, budgets)
    variance, squared_bias = _losses(values, people)
    noise = 2.0 * (sensitivity * NANO / values[positive]) ** 2
    lost = values.size - noise.size
    error = variance[lost:] * concentration.variance + squared_bias[lost:] * concentration.squared_bias + noise
    best = int(np.argmin(error))
    if bits is not None and lost + best > 0:  # not all people are kept
        budgets = floor_to_steps(budgets, bits)
    return Selection(
        int(values[lost + best]),
        float(variance[lost + best]),
        float(squared_bias[lost + best]),
        float(noise[best]),
        budgets,
        int(values[0]),
        concentration,
    )


def _losses(values: Units, people: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Variance and squared bias for each value as the threshold, in one pass; stable when budgets cluster."""
    e = values / NANO
    step = np.diff(values) / NANO
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.expm1(-step) / np.expm1(-e[1:])  # 1 - p of the next lower value
        r = np.exp(-step) * np.expm1(-e[:-1]) / np.expm1(-e[1:])  # its p
    variance, bias = np.zeros(values.size), np.zeros(values.size)
    N = P = V = D = 0.0  # people below, expected kept, variance, expected lost
    for k, (n, c_k, r_k) in enumerate(zip(people[:-1].tolist(), c.tolist(), r.tolist(), strict=True)):
        N += n
        P += n
        V = r_k * r_k * V + r_k * c_k * P
        D = r_k * D + c_k * N
        P *= r_k
        variance[k + 1], bias[k + 1] = V, D
    return variance, bias * bias


def distinct_budgets(
    budgets: Units, sizes: npt.NDArray[np.int64], fast: bool
) -> tuple[Units, npt.NDArray[np.int64], int | None]:
    """Different budgets, people of each, and the bits they were rounded down to; None if they were not."""
    if fast and budgets.size > 4 * MOST_DISTINCT:
        from wevent.decisions.fast import tally

        return tally(budgets, sizes, MOST_DISTINCT)
    values, people = _count(budgets, sizes)
    if values.size <= MOST_DISTINCT:
        return values, people, None
    positive = values[values > 0]
    bits = step_bits(int(positive[0]), int(positive[-1]))
    return *_count(floor_to_steps(budgets, bits), sizes), bits


def _count(budgets: Units, sizes: npt.NDArray[np.int64]) -> tuple[Units, npt.NDArray[np.int64]]:
    registered = sizes > 0
    values, which = np.unique(budgets[registered], return_inverse=True)
    people = np.zeros(values.size, np.int64)
    np.add.at(people, which, sizes[registered])
    return values, people


def step_bits(least: int, greatest: int) -> int:
    """Bits of mantissa to keep so that at most `MOST_DISTINCT` steps lie between two positive budgets."""
    octaves = greatest.bit_length() - least.bit_length() + 1
    return max(0, (MOST_DISTINCT // octaves).bit_length() - 1)


def floor_to_steps(budgets: Units, bits: int) -> Units:
    """Round budgets down to logarithmic steps: integers with `bits` bits after the leading one.

    Guarantees:
        Never above the budget, and never below it by more than one part in 2^bits.
        With the bits of `step_bits` at most 1024 different positive ones.
    """
    length = np.frexp(budgets.astype(np.float64))[1]  # exact, since budgets are below 2^53
    drop = np.maximum(length - 1 - bits, 0).astype(np.int64)
    return np.left_shift(np.right_shift(budgets, drop), drop)
