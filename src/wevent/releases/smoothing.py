"""Smooths the history of releases from raw publications, at no cost (SPEC §14).

A filter knows only the publications before a slot. Later ones become public too, and the same models run backwards over
them ([Rauch65]). Nothing is drawn and nothing is spent; earlier releases stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidInput
from wevent.releases.models.bank import ModelBank, mix_models, new_bank
from wevent.releases.models.dynamics import Floats, LevelModels
from wevent.releases.models.grid import all_models
from wevent.releases.release import NORMAL_95, Release

Slots = npt.NDArray[np.int64]

_ROUNDING = 1e-6
"""A variance may be off by this part of itself."""

_LATER = 50
"""Models are weighted by their likelihood so many publications after a slot."""

_NUMBERS = 20_000_000
"""Numbers in memory at a time; cells are smoothed in blocks that fit."""


@dataclass(frozen=True, slots=True)
class RawPublication:
    """One raw publication: its slot, noisy counts and their standard errors (axes: cell)."""

    slot: int
    counts: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)


@dataclass(frozen=True, slots=True)
class SmoothedCounts:
    """Smoothed counts of consecutive slots (axes: slot, cell).

    Attributes:
        first: the first of the slots.
        counts: never negative.
        standard_error: root of the expected squared error.
    """

    first: int
    counts: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)

    @property
    def low(self) -> Floats:
        """Lower ends of the 95 % intervals."""
        return np.maximum(self.counts - NORMAL_95 * self.standard_error, 0.0)

    @property
    def high(self) -> Floats:
        """Upper ends of the 95 % intervals."""
        return self.counts + NORMAL_95 * self.standard_error


def published(releases: Sequence[Release]) -> list[RawPublication]:
    """The raw publications among releases."""
    return [
        RawPublication(release.slot, release.raw.counts.astype(np.float64), release.raw.standard_error)
        for release in releases
        if release.raw is not None
    ]


def smooth(publications: Sequence[RawPublication], last: int | None = None) -> SmoothedCounts:
    """Smooth all slots from the first publication to slot `last`, by default the last publication.

    Guarantees:
        The result is a function of public values and costs no budget.
        In the last slot it equals what the filter showed, but for the bound by registered people.
    """
    if not publications:
        raise InvalidInput("there is nothing to smooth: no release with raw counts was given")
    slots = np.array([each.slot for each in publications])
    if (np.diff(slots) <= 0).any():
        raise InvalidInput("releases must come in the order of their slots, each slot once")
    last = int(slots[-1]) if last is None else max(last, int(slots[-1]))
    values = np.stack([each.counts for each in publications])
    noise = np.stack([np.square(each.standard_error) for each in publications])
    block = max(1, _NUMBERS // (11 * len(publications) * all_models().size))
    parts = [
        _smooth(slots, values[:, k : k + block], noise[:, k : k + block], last)
        for k in range(0, values.shape[1], block)
    ]
    counts, variance = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return SmoothedCounts(int(slots[0]), np.maximum(counts, 0.0), np.sqrt(variance))


@dataclass(frozen=True, slots=True)
class _Step:
    """The bank after a publication, and just before it; `scale` is per cell (`models.dynamics`)."""

    posterior: Floats
    prior: Floats
    weight: Floats
    scale: Floats


def _run_forwards(bank: ModelBank, slots: Slots, values: Floats, noise: Floats) -> list[_Step]:
    steps = []
    for k, slot in enumerate(slots.tolist()):
        scale = np.maximum(bank.levels(), 1.0)
        if k:
            bank.update(slot - int(slots[k - 1]), values[k], noise[k], scale)
        else:
            bank.begin(values[0], noise[0], float("inf"))
        steps.append(_Step(bank.posterior, bank.prior, bank.weight, np.maximum(bank.levels(), 1.0)))
    return steps


def _smooth(slots: Slots, values: Floats, noise: Floats, last: int) -> tuple[Floats, Floats]:
    bank = new_bank(values.shape[1])
    models, steps = bank.models, _run_forwards(bank, slots, values, noise)
    shape = (last - int(slots[0]) + 1, values.shape[1])
    counts, variances = np.empty(shape), np.empty(shape)
    state = steps[-1].posterior
    for k in range(len(steps) - 1, -1, -1):
        step, row = steps[k], int(slots[k] - slots[0])
        weight = steps[min(k + _LATER, len(steps) - 1)].weight
        variation = models.variation * step.scale
        following = steps[k + 1].prior if k + 1 < len(steps) else None
        gap = (int(slots[k + 1]) if k + 1 < len(steps) else last + 1) - int(slots[k])
        for wait in range(1, gap):
            between = models.forecast(step.posterior, wait, step.scale)
            if following is not None:
                between = _smooth_state(models, between, gap - wait, following, state)
            mean, variance = models.value(between)
            counts[row + wait], variances[row + wait] = _mix(weight, mean, variance + variation)
        state = step.posterior if following is None else _smooth_state(models, step.posterior, gap, following, state)
        level, variance = models.value(state)
        R = noise[k]
        shown = level + variation / (variation + R) * (values[k] - level)
        spread = variation * (R / (variation + R)) + np.square(R / (variation + R)) * variance
        counts[row], variances[row] = _mix(weight, shown, spread)
    return counts, variances


def _smooth_state(models: LevelModels, state: Floats, gap: int, forecast: Floats, later: Floats) -> Floats:
    """A state, given the smoothed state `later` that is `gap` slots later and its `forecast` [Rauch65].

    After a burst the bank restores the state before it, so that `forecast` was not made from this state. A variance
    that would grow or fall below 0 shows it: there the state stays as it is.
    """
    step, left = models.has_slope * gap, models.retention**gap
    _, _, level_variance, covariance, second_variance = state
    # Covariances of this state with the forecast one: rows are level and second now, columns later.
    ll, ls = level_variance + step * covariance, left * covariance
    sl, ss = covariance + step * second_variance, left * second_variance
    alone = forecast[4] <= 0.0  # a level without a second component
    det = np.where(alone, 1.0, forecast[2] * forecast[4] - np.square(forecast[3]))
    a = np.where(alone, 1 / forecast[2], forecast[4] / det)
    b, c = np.where(alone, 0.0, -forecast[3] / det), np.where(alone, 0.0, forecast[2] / det)
    ll, ls, sl, ss = ll * a + ls * b, ll * b + ls * c, sl * a + ss * b, sl * b + ss * c  # gains
    level, second, x, y, z = later - forecast
    smoothed = np.empty_like(state)
    smoothed[0] = state[0] + ll * level + ls * second
    smoothed[1] = state[1] + sl * level + ss * second
    smoothed[2] = level_variance + ll * (ll * x + ls * y) + ls * (ll * y + ls * z)
    smoothed[3] = covariance + sl * (ll * x + ls * y) + ss * (ll * y + ls * z)
    smoothed[4] = second_variance + sl * (sl * x + ss * y) + ss * (sl * y + ss * z)
    shrunk = [(smoothed[k] >= -_ROUNDING * state[k]) & (smoothed[k] <= (1 + _ROUNDING) * state[k]) for k in (2, 4)]
    positive = models.value(smoothed)[1] >= -_ROUNDING * (state[2] + state[4])
    return np.where(shrunk[0] & shrunk[1] & positive, smoothed, state)


def _mix(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance over models; a variance that rounding took below 0 is 0."""
    return mix_models(weight, mean, np.maximum(variance, 0.0))
