"""Makes one noisy count out of many budgets (SPEC §4, §12).

`Sampled` keeps people by coins, as in [Du25]. `Unbiased` counts all people in full at the least budget.
`decisions.pooled` weights people by their budgets.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.evidence import Evidence, Floats, ForecastError, Knowledge, Offers
from wevent.decisions.sampling import sample
from wevent.decisions.selection import Concentration, Selection, choose_threshold, worst
from wevent.decisions.weighting import add_noise, laplace_variance
from wevent.noise import Noise
from wevent.units import MAX_EPSILON, NANO, Units

Sizes = npt.NDArray[np.int64]
Expect = Callable[[Floats | None, int], Concentration]
"""From the public counts and the number of registered people: how concentrated the lost people are expected to be."""


class Estimator(ABC):
    """Makes one count out of many budgets; an estimator that learns nothing inherits an empty state."""

    name: ClassVar[str]
    assumption: ClassVar[str | None]
    """What must be true of the stream for the counts to be right in the mean, in words; None if nothing must."""
    integer_counts: ClassVar[bool]
    """Whether counts are always integers."""

    @abstractmethod
    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Selection:
        """The threshold for these budgets; `public` are the counts shown last, None before any (axes: cell)."""

    def forecast(self, offers: Offers, sizes: Sizes, sensitivity: int, public: Knowledge) -> ForecastError:
        """The expected error of each of several offers, computed one after the other."""
        errors = np.array([self.choose(offer, sizes, sensitivity, public).error for offer in offers.budgets])
        return ForecastError(errors, np.zeros(errors.size))

    @abstractmethod
    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Knowledge
    ) -> Evidence:
        """Noisy counts at that threshold; a person loses at most the budget they offered."""

    def state(self) -> dict[str, Any]:
        """What the estimator has learned, as plain values and arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027 - nothing to restore unless something is learned
        """Continue from what `state` returned."""


class Sampled(Estimator):
    """Optimal budget selection and the sample mechanism. [Du25] Alg. 1, [Jorgensen15].

    Args:
        expect: where lost people are expected to stand when a threshold is chosen: `selection.worst`, as published, or
            `selection.expected`, in proportion to the last release.
    """

    name: ClassVar[str] = "sampled"
    assumption: ClassVar[str | None] = None
    integer_counts: ClassVar[bool] = True

    def __init__(self, expect: Expect = worst) -> None:
        self.expect = expect

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Selection:
        """The threshold of least error."""
        if self.expect is worst:
            return choose_threshold(budgets, sizes, sensitivity)
        return choose_threshold(
            budgets, sizes, sensitivity, concentration=self.expect(counts_of(public), int(sizes.sum()))
        )

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Knowledge
    ) -> Evidence:
        """Kept people plus noise."""
        counts = sample(tally, selection, sizes, sensitivity, noise)
        return Evidence(counts, np.square(standard_error(counts, selection, sensitivity)))


class Unbiased(Estimator):
    """Counts all people in full, at the least budget that anybody offers.

    Guarantees:
        The counts are right in the mean, wherever people are.
        If anybody has no budget left, nothing is published.
    """

    name: ClassVar[str] = "unbiased"
    assumption: ClassVar[str | None] = None
    integer_counts: ClassVar[bool] = True

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Selection:
        """The least budget of any registered person; 0 without one."""
        registered = budgets[sizes > 0]
        threshold = int(registered.min()) if registered.size else 0
        noise = 2.0 * (sensitivity * NANO / threshold) ** 2 if threshold > 0 else math.inf
        return Selection(max(threshold, 0), 0.0, 0.0, noise, budgets, threshold)

    def forecast(self, offers: Offers, sizes: Sizes, sensitivity: int, public: Knowledge) -> ForecastError:
        """The error of each of several offers, all at once."""
        least = offers.budgets[:, sizes > 0].min(axis=1, initial=MAX_EPSILON * NANO)
        with np.errstate(divide="ignore"):
            return ForecastError(2.0 * np.square(sensitivity * NANO / least), np.zeros(least.size))

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Knowledge
    ) -> Evidence:
        """The counts of all people plus noise."""
        counts = add_noise(tally.total(), selection.threshold, 0, sensitivity, noise)
        variance = laplace_variance(selection.threshold, 0, sensitivity)
        return Evidence(counts, np.full(counts.size, variance))


def counts_of(public: Knowledge) -> Floats | None:
    """The public counts; None before the first publication."""
    return None if public is None else public.counts


def nothing_selected(budgets: Units) -> Selection:
    """The selection if nobody has any budget."""
    return Selection(0, 0.0, 0.0, math.inf, budgets)


def sums_before(values: npt.NDArray[np.generic]) -> Floats:
    """Sums of all elements before each element, along the last axis."""
    sums = np.zeros(values.shape)
    np.cumsum(values[..., :-1], axis=-1, out=sums[..., 1:])
    return sums


def standard_error(counts: Counts | Floats, selection: Selection, sensitivity: int) -> Floats:
    """Root of the expected squared error per cell, from public values only (axes: cell).

    The noise is the same everywhere; lost people are taken to stand in proportion to the released counts.
    """
    noise = laplace_variance(selection.threshold, 0, sensitivity)
    positive = np.maximum(counts, 0).astype(np.float64)
    share = positive / positive.sum() if positive.any() else np.full(counts.size, 1 / counts.size)
    return np.sqrt(noise + selection.variance * share + selection.squared_bias * share**2)
