"""Weights people by their budgets and scales the sum up to all people (SPEC §12).

A person counts in proportion to what they offer, and the sum is scaled by registered people over registered weights.
The noise is that of the *mean* budget instead of the least. The counts are right in the mean if what people require
says nothing about where they are. A contrast between strict and lenient people measures by how much that is wrong
(`decisions.contrasted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import ClassVar

import numpy as np

from wevent.cohorts.histogram import Tally
from wevent.decisions.estimators import Estimator, Sizes, counts_of, nothing_selected, sums_before
from wevent.decisions.evidence import Evidence, Floats, ForecastError, Knowledge, Offers
from wevent.decisions.selection import Concentration, Selection, distinct_budgets, floor_to_steps
from wevent.decisions.weighting import Weights, add_noise, laplace_variance, weigh, weight_bits, weighted_sums
from wevent.noise import Noise
from wevent.settings import has_numba
from wevent.units import NANO, Units

ASSUMPTION = "what people require says nothing about where they are"

_LEAST_SHARE = 0.1
"""At least this share of people offers the cap or more, so that a few people cannot outvote all."""

_FEW_ROWS = 4096
"""With at most so many rows, several offers are sorted at once."""


class Pooled(Estimator):
    """Weights people in proportion to their budgets, up to a cap, and scales the sum to all registered people.

    Guarantees:
        The noise is that of the mean over people of min(e, θ).
        Unbiased if what people require says nothing about where they are; `assumption` says so.
        At least a tenth of all people offer θ or more.
    """

    name: ClassVar[str] = "pooled"
    assumption: ClassVar[str | None] = ASSUMPTION
    integer_counts: ClassVar[bool] = False

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Selection:
        """The cap of least error: noise, and the variance of counting some people more than others."""
        return choose_cap(budgets, sizes, sensitivity, public)[0]

    def forecast(self, offers: Offers, sizes: Sizes, sensitivity: int, public: Knowledge) -> ForecastError:
        """The error of each of several offers, all at once."""
        caps = several_caps(offers.budgets, sizes, sensitivity, public)
        if caps is None:
            return super().forecast(offers, sizes, sensitivity, public)
        return ForecastError(caps.error, np.zeros(caps.error.size))

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Knowledge
    ) -> Evidence:
        """Weighted sums plus noise, scaled by registered people over registered weights."""
        evidence, _ = pool(tally, selection, sizes, sensitivity, noise)
        counts = evidence.counts if public is None else public.counts
        p = np.clip(counts / max(int(sizes.sum()), 1), 0.0, 1.0)
        # Without leverage: no bias is measured, so that the evidence says nothing about one.
        return replace(evidence, variance=evidence.variance + selection.variance * p * (1 - p), leverage=0.0)


@dataclass(frozen=True, slots=True)
class Caps:
    """The best cap of each of several offers (axes: offer); budgets in ε.

    Attributes:
        threshold: the cap; 0 if nobody has any budget.
        least: the least budget of any person.
        mean: of min(e, cap) over people.
        noise: variance of the noise at that cap.
        leverage: as in `Evidence`.
        error: noise, and what chance adds if budgets say nothing about where people are.
    """

    threshold: Floats
    least: Floats
    mean: Floats
    noise: Floats
    leverage: Floats
    error: Floats

    @classmethod
    def of_each(cls, caps: Sequence[Caps | None]) -> Caps:
        """Caps of several offers, one after the other."""
        none = np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, np.inf), np.zeros(1), np.full(1, np.inf)
        each = [none if cap is None else astuple(cap) for cap in caps]
        return cls(*(np.concatenate(part) for part in zip(*each, strict=True)))


def choose_cap(budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> tuple[Selection, Caps | None]:
    """The cap of least error, as a selection and as a list of one; None if nobody has any budget."""
    if not budgets.any():
        return nothing_selected(budgets), None
    values, people, bits = distinct_budgets(budgets, sizes, has_numba())
    if not (values > 0).any():
        return nothing_selected(budgets), None
    n = int(people.sum())
    concentration = Concentration(_mean_scatter(public, n), 0.0)
    caps = _best_caps((values / NANO)[None], people[None], sensitivity, concentration)
    if bits is not None:
        budgets = floor_to_steps(budgets, bits)
    threshold = round(float(caps.threshold[0]) * NANO)
    variance, noise = float(caps.leverage[0] * n), float(caps.noise[0])
    return Selection(threshold, variance, 0.0, noise, budgets, int(values[0]), concentration), caps


def several_caps(budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Caps | None:
    """The best caps of several offers, all at once; None if there are too many rows for that."""
    registered = sizes > 0
    if budgets.shape[1] > _FEW_ROWS or not registered.any():
        return None
    order = np.argsort(budgets[:, registered], axis=1)
    values = np.take_along_axis(budgets[:, registered], order, axis=1)
    concentration = Concentration(_mean_scatter(public, int(sizes.sum())), 0.0)
    return _best_caps(values / NANO, sizes[registered][order], sensitivity, concentration)


def _best_caps(e: Floats, people: Sizes, sensitivity: int, concentration: Concentration) -> Caps:
    """All caps at once; budgets ascend along the last axis, equal ones do no harm."""
    n = people.sum(axis=-1, keepdims=True).astype(np.float64)
    at_least = n - sums_before(people)  # people who offer this much or more
    # Σ min(e, θ) and Σ min(e, θ)² over people, for every θ
    sums = sums_before(people * e) + at_least * e
    squares = sums_before(people * e * e) + at_least * e * e
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = 2.0 * np.square(sensitivity * n / sums)
        leverage = np.maximum(n * squares / np.square(sums) - 1.0, 0.0)
        error = np.where(e > 0, noise + leverage * n * concentration.variance, np.inf)
    # Where too few people have any budget, the lowest cap.
    allowed = (at_least >= _LEAST_SHARE * n) | (np.cumsum(e > 0, axis=-1) == 1)
    best = np.argmin(np.where(allowed, error, np.inf), axis=-1)[:, None]
    caps, sums, noise, leverage, error = (
        np.take_along_axis(x, best, axis=1)[:, 0] for x in (e, sums, noise, leverage, error)
    )
    return Caps(caps, e[:, 0], sums / n[:, 0], noise, leverage, error)


def _mean_scatter(public: Knowledge, people: int) -> float:
    """Mean over cells of p(1-p), p being the probability that a person is in the cell; at most 1/4."""
    counts = counts_of(public)
    if counts is None:
        return 0.25
    p = np.minimum(np.maximum(counts, 0.0) / max(people, 1), 1.0)
    return float((p * (1 - p)).mean())


def pool(tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise) -> tuple[Evidence, Floats]:
    """Weighted sums plus noise, scaled; and how far each row's weight is above the mean weight, in means."""
    theta, people = selection.threshold, int(sizes.sum())
    bits = weight_bits(people * sensitivity)
    weights = weigh(selection.budgets, theta, bits)
    noisy = add_noise(weighted_sums(tally, weights, sizes), theta, bits, sensitivity, noise)
    scale = people / weights.total(sizes)
    counts = np.ldexp(noisy.astype(np.float64), -bits) * scale
    variance = np.full(counts.size, laplace_variance(theta, bits, sensitivity) * scale**2)
    above = _above(weights, scale, sizes)
    return Evidence(counts, variance, float(np.dot(above * above, sizes)) / people), above


def _above(weights: Weights, scale: float, sizes: Sizes) -> Floats:
    return np.where(sizes > 0, np.ldexp(weights.multiples.astype(np.float64), -weights.bits) * scale - 1.0, 0.0)
