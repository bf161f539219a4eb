"""Forecasts the slots after a publication from the states of all models at once."""

from __future__ import annotations

import numpy as np

from wevent.releases.models.dynamics import Floats, LevelModels


class ForecastState:
    """Mean and variance of later slots, as sums of a few functions of the time that has passed.

    Each model's mean and mean square are sums of powers of i and of its retention. Weighted sums over models have the
    same form, so that a slot costs the same for any number of models.
    """

    def __init__(self, models: LevelModels, state: Floats, weight: Floats, scale: Floats) -> None:
        self._retentions, kind = models.retentions, models.kinds
        middle = (weight * models.value(state)[0]).sum(axis=0)
        level, second = state[0] - middle, state[1]  # around the middle, so that no digits are lost
        _, _, level_variance, covariance, second_variance = state
        scaled = weight * scale
        drift = kind @ (weight * second)
        cross = kind @ (weight * (covariance + level * second)) * 2
        square = kind @ (weight * (second_variance + second * second))
        constant = weight * (level * level + level_variance) + scaled * (models.variation + models.swing)
        self._mean = np.concatenate([[middle + (weight * level).sum(axis=0)], drift])
        powers = [constant.sum(axis=0), cross[0] + (scaled * models.walk).sum(axis=0), square[0]]
        powers.append((scaled * models.slope).sum(axis=0) / 3)
        self._square = np.concatenate([powers, cross[1:], square[1:] - kind[1:] @ (scaled * models.swing)])
        self._middle = middle

    def at(self, i: int) -> tuple[Floats, Floats]:
        """Mean and variance `i` slots later (axes: cell)."""
        left = self._retentions**i
        mean = np.concatenate([[1.0, i], left]) @ self._mean
        square = np.concatenate([[1.0, i, i * i, i**3], left, left * left]) @ self._square
        return mean, np.maximum(square - np.square(mean - self._middle), 0.0)
