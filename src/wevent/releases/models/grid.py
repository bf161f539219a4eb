"""Lists every model that a state-space filter runs, with its weight before the first publication."""

from __future__ import annotations

import numpy as np

from wevent.releases.models.dynamics import Floats, LevelModels

WALKS = tuple(10.0**k for k in range(-5, 2))
"""Variances of a level's walk per slot, as multiples of the level; faster movement is a swing, a slope or a jump."""

VARIATIONS = (0.0, *(10.0 ** (k / 2) for k in range(-3, 4)))
"""Variances of a slot around the level, as multiples of it; people who come independently give 1."""

SLOPES = tuple(10.0**k for k in range(-7, 0))
"""Variances of a slope's walk per slot: from a wave of ten thousand slots to one of a hundred."""

SWINGS = tuple(10.0**k for k in range(4))
"""Variances of a swing: up to that of a cell of a thousand people that empties and fills again."""

SWING_SLOTS = (4.0, 16.0, 64.0)
"""Slots after which a third of a swing is left."""

_SLOW_WALK = 1e-3
"""The walk of the level around which a swing goes."""


def all_models() -> LevelModels:
    """Every model of a state-space filter.

    The error at the best pace grows like κ^(2/3). Prior weights of κ^(-1/3) go half of the way to models that count
    alike in it. Where noise hides everything, no budget is then spent on chasing movement that is hardly ever there.
    """
    walk, variation = (grid.ravel() for grid in np.meshgrid(WALKS, VARIATIONS))
    level = np.stack([walk, variation, 0 * walk, 0 * walk, 1 + 0 * walk, _sum_to(0.5, walk ** (-1 / 3))])
    swing, slots, variation = (grid.ravel() for grid in np.meshgrid(SWINGS, SWING_SLOTS, (0.0, 1.0)))
    ones = np.ones(swing.size)
    swings = np.stack([_SLOW_WALK * ones, variation, 0 * ones, swing, np.exp(-1 / slots), _sum_to(0.25, swing**-0.5)])
    slope, variation = (grid.ravel() for grid in np.meshgrid(SLOPES, (0.1, 1.0, 10.0)))
    ones = np.ones(slope.size)
    slopes = np.stack([0 * ones, variation, slope, 0 * ones, ones, _sum_to(0.25, slope**-0.25)])
    return LevelModels(*np.concatenate([level, swings, slopes], axis=1)[:, :, None])


def _sum_to(total: float, weight: Floats) -> Floats:
    return weight * (total / weight.sum())
