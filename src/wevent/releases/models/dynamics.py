"""Defines how the level of a cell may move, and the Kalman filter of each model (SPEC §14).

A model is a level that walks, values that vary around it, and perhaps a second component: a *slope* that walks
itself and moves the level ([West97] ch. 7), or a *swing* around the level that decays, such as that of the day. All
variances are multiples of a cell's `scale`, which is its level. A state is an array with the axes (part, model, cell);
its parts are the level, the second component, the variance of the level, their covariance and the variance of
the second component.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FIRST_SLOPE_SLOTS = 50.0
"""A first slope is as uncertain as one that has walked for so many slots."""


@dataclass(frozen=True, slots=True)
class LevelModels:
    """Several models side by side (axes: model, 1).

    Attributes:
        walk: variance of the level's walk per slot.
        variation: variance of a slot's value around the level.
        slope: variance of a slope's walk per slot; 0 without a slope.
        swing: variance of a swing; 0 without a swing.
        retention: the part of a swing that is left after one slot; 1 without a swing.
        prior_weight: weight before the first publication; these weights sum to 1.
        has_slope: 1 where the second component is a slope, otherwise 0.
        has_swing: 1 where it is a swing, otherwise 0.
        retentions: the different retentions of swings (axes: retention).
        kinds: 1 where the second component is a slope, then where it is a swing of each retention (axes: kind, model).
    """

    walk: Floats
    variation: Floats
    slope: Floats
    swing: Floats
    retention: Floats
    prior_weight: Floats
    has_slope: Floats = field(init=False)
    has_swing: Floats = field(init=False)
    retentions: Floats = field(init=False)
    kinds: Floats = field(init=False)

    def __post_init__(self) -> None:
        retentions = np.unique(self.retention[self.swing > 0])
        swings = [(self.swing[:, 0] > 0) & (self.retention[:, 0] == each) for each in retentions]
        object.__setattr__(self, "retentions", retentions)
        object.__setattr__(self, "kinds", np.array([self.slope[:, 0] > 0, *swings], np.float64))
        object.__setattr__(self, "has_slope", np.where(self.slope > 0, 1.0, 0.0))
        object.__setattr__(self, "has_swing", np.where(self.swing > 0, 1.0, 0.0))

    @property
    def size(self) -> int:
        """The number of models."""
        return int(self.walk.size)

    def begin(self, value: Floats, noise: Floats, most: float) -> Floats:
        """The state after a first value, if no level is above `most`."""
        trust = 1 / (1 + noise / (most * most))
        scale = np.maximum(trust * value, 1.0)
        state = np.zeros((5, self.size, value.size))
        swing, slope = self.swing * scale, self.slope * scale * _FIRST_SLOPE_SLOTS
        state[0], state[2] = trust * value, trust * noise + swing + self.variation * scale
        state[3], state[4] = -swing, swing + slope
        return state

    def forecast(self, state: Floats, gap: float, scale: Floats) -> Floats:
        """The state `gap` slots later, without a publication in between."""
        level, second, level_variance, covariance, second_variance = state
        step, left = self.has_slope * gap, self.retention**gap
        turns, decays = self.slope * scale, self.swing * scale * (1 - left * left)
        moved = np.empty_like(state)
        moved[0] = level + step * second
        moved[1] = left * second
        walked = gap * (self.walk * scale + turns * (gap * gap / 3))
        moved[2] = level_variance + step * (2 * covariance + step * second_variance) + walked
        moved[3] = left * (covariance + step * second_variance) + turns * (gap * gap / 2)
        moved[4] = left * left * second_variance + turns * gap + decays
        return moved

    def value(self, state: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of each model's value, without the variation of a single slot (axes: model, cell)."""
        swing = self.has_swing
        return state[0] + swing * state[1], state[2] + swing * (2 * state[3] + state[4])

    def update(self, state: Floats, surprise: Floats, total: Floats) -> Floats:
        """The state after a value that is `surprise` above its forecast, of variance `total`."""
        swing = self.has_swing
        with_level, with_second = state[2] + swing * state[3], state[3] + swing * state[4]
        gain, second_gain = with_level / total, with_second / total
        steps = gain * surprise, second_gain * surprise
        return state + np.stack([*steps, -gain * with_level, -gain * with_second, -second_gain * with_second])
