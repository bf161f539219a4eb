"""A better history at no cost: raw publications come in, smoothed counts for every slot go out.

A filter knows only what came before a slot. Afterwards what came later is public too, and the same models can be run
backwards over it ([Rauch65]). Nothing is drawn and nothing is spent; earlier releases stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidInput
from wevent.releases.bank import Bank
from wevent.releases.filters import new_bank
from wevent.releases.models import Floats, Models, all_models
from wevent.releases.release import NORMAL_95, Release

Slots = npt.NDArray[np.int64]

_ROUNDED = 1e-6
"""A variance may be off by this part of what it was."""

_LATER = 50
"""Models count by how well they did up to so many publications after a slot."""

_HELD = 20_000_000
"""Numbers held at a time; cells are smoothed in blocks that fit."""


@dataclass(frozen=True, slots=True)
class Published:
    """One raw publication: its slot, noisy counts and their standard errors (axes: cell)."""

    slot: int
    counts: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)


@dataclass(frozen=True, slots=True)
class Smoothed:
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


def published(releases: Sequence[Release]) -> list[Published]:
    """The raw publications among releases."""
    return [
        Published(release.slot, release.raw.counts.astype(np.float64), release.raw.standard_error)
        for release in releases
        if release.raw is not None
    ]


def smooth(publications: Sequence[Published], last: int | None = None) -> Smoothed:
    """Smooth all slots from the first publication to slot `last`, by default the last publication.

    Guarantees:
        A function of what is already public: it costs no budget.
        In the last slot it shows what the filter showed then, but for the bound by registered people.
    """
    if not publications:
        raise InvalidInput("there is nothing to smooth: no release with raw counts was given")
    slots = np.array([each.slot for each in publications])
    if (np.diff(slots) <= 0).any():
        raise InvalidInput("releases must come in the order of their slots, each slot once")
    last = int(slots[-1]) if last is None else max(last, int(slots[-1]))
    values = np.stack([each.counts for each in publications])
    noise = np.stack([np.square(each.standard_error) for each in publications])
    block = max(1, _HELD // (11 * len(publications) * all_models().size))
    parts = [
        _smooth(slots, values[:, k : k + block], noise[:, k : k + block], last)
        for k in range(0, values.shape[1], block)
    ]
    counts, variance = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Smoothed(int(slots[0]), np.maximum(counts, 0.0), np.sqrt(variance))


@dataclass(frozen=True, slots=True)
class _Step:
    """How the bank stood after a publication, and just before it; `scale` is per cell (`releases.models`)."""

    state: Floats
    ahead: Floats
    weight: Floats
    scale: Floats


def _forwards(bank: Bank, slots: Slots, values: Floats, noise: Floats) -> list[_Step]:
    steps = []
    for place, slot in enumerate(slots.tolist()):
        scale = np.maximum(bank.levels(), 1.0)
        if place:
            bank.update(slot - int(slots[place - 1]), values[place], noise[place], scale)
        else:
            bank.begin(values[0], noise[0], float("inf"))
        steps.append(_Step(bank.state, bank.ahead, bank.weight, np.maximum(bank.levels(), 1.0)))
    return steps


def _smooth(slots: Slots, values: Floats, noise: Floats, last: int) -> tuple[Floats, Floats]:
    bank = new_bank(values.shape[1])
    models, steps = bank.models, _forwards(bank, slots, values, noise)
    shape = (last - int(slots[0]) + 1, values.shape[1])
    counts, variances = np.empty(shape), np.empty(shape)
    state = steps[-1].state
    for place in range(len(steps) - 1, -1, -1):
        step, here = steps[place], int(slots[place] - slots[0])
        weight = steps[min(place + _LATER, len(steps) - 1)].weight
        white = models.white * step.scale
        following = steps[place + 1].ahead if place + 1 < len(steps) else None
        gap = (int(slots[place + 1]) if place + 1 < len(steps) else last + 1) - int(slots[place])
        for wait in range(1, gap):
            then = models.ahead(step.state, wait, step.scale)
            if following is not None:
                then = _knowing_later(models, then, gap - wait, following, state)
            mean, variance = models.shown(then)
            counts[here + wait], variances[here + wait] = _mixed(weight, mean, variance + white)
        if following is not None:
            state = _knowing_later(models, step.state, gap, following, state)
        level, variance = models.shown(state)
        R = noise[place]
        shown = level + white / (white + R) * (values[place] - level)
        spread = white * (R / (white + R)) + np.square(R / (white + R)) * variance
        counts[here], variances[here] = _mixed(weight, shown, spread)
    return counts, variances


def _knowing_later(models: Models, state: Floats, gap: int, ahead: Floats, later: Floats) -> Floats:
    """A state, knowing what is known `gap` slots later, where `ahead` was foretold and `later` is known [Rauch65].

    After a burst the bank goes back to what it knew before, so that `ahead` did not come from this state. It shows in
    a variance that would grow or fall below 0: there the state stays as it is.
    """
    step, left = models.glides * gap, models.memory**gap
    _, _, of_level, both, of_second = state
    # How this state and the foretold one vary together: rows are level and second here, columns there.
    ll, ls, sl, ss = of_level + step * both, left * both, both + step * of_second, left * of_second
    alone = ahead[4] <= 0.0  # a level without a second component
    det = np.where(alone, 1.0, ahead[2] * ahead[4] - np.square(ahead[3]))
    a = np.where(alone, 1 / ahead[2], ahead[4] / det)
    b, c = np.where(alone, 0.0, -ahead[3] / det), np.where(alone, 0.0, ahead[2] / det)
    ll, ls, sl, ss = ll * a + ls * b, ll * b + ls * c, sl * a + ss * b, sl * b + ss * c  # gains
    level, second, x, y, z = later - ahead
    known = np.empty_like(state)
    known[0] = state[0] + ll * level + ls * second
    known[1] = state[1] + sl * level + ss * second
    known[2] = of_level + ll * (ll * x + ls * y) + ls * (ll * y + ls * z)
    known[3] = both + sl * (ll * x + ls * y) + ss * (ll * y + ls * z)
    known[4] = of_second + sl * (sl * x + ss * y) + ss * (sl * y + ss * z)
    shrunk = [(known[k] >= -_ROUNDED * state[k]) & (known[k] <= (1 + _ROUNDED) * state[k]) for k in (2, 4)]
    whole = models.shown(known)[1] >= -_ROUNDED * (state[2] + state[4])
    return np.where(shrunk[0] & shrunk[1] & whole, known, state)


def _mixed(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance over models; a variance that rounding took below 0 is 0."""
    middle = (weight * mean).sum(axis=0)
    return middle, (weight * (np.maximum(variance, 0.0) + np.square(mean - middle))).sum(axis=0)
