"""An oracle for filter and smoother: the joint normal distribution of levels, swings and values at many times.

It holds the covariances of the models of `releases.models`, without their recursions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wevent.releases.models.dynamics import LevelModels

Floats = NDArray[np.float64]

FIRST_SLOPE_SLOTS = 50.0
"""Slots that a first slope has walked for."""

MOST_LEVEL = 1e4
"""Standard deviation of a level before anything is known: far more than any other variance here."""


@dataclass(frozen=True)
class OneModel:
    """One model at scale 1."""

    walk: float = 0.0
    variation: float = 0.0
    slope: float = 0.0
    swing: float = 0.0
    retention: float = 1.0

    def models(self) -> LevelModels:
        return side_by_side(self)

    def level(self, s: Floats, t: Floats) -> Floats:
        """Covariance of levels at times s (down) and t (across)."""
        a, b = np.minimum.outer(s, t), np.maximum.outer(s, t)
        glide = self.slope * (a * a * b / 2 - a**3 / 6 + FIRST_SLOPE_SLOTS * np.multiply.outer(s, t))
        return np.asarray(MOST_LEVEL**2 + self.walk * a + glide)

    def second(self, s: Floats, t: Floats) -> Floats:
        """Covariance of slopes or swings."""
        if self.swing:
            return np.asarray(self.swing * self.retention ** np.abs(np.subtract.outer(s, t)))
        return np.asarray(self.slope * (FIRST_SLOPE_SLOTS + np.minimum.outer(s, t)))

    def covariance(self, s: Floats, t: Floats) -> Floats:
        """Covariance of levels at times s with slopes at times t; swings are independent of the level."""
        a = np.minimum.outer(s, t)
        return np.asarray(self.slope * (FIRST_SLOPE_SLOTS * s[:, None] + s[:, None] * a - a * a / 2))

    def value(self, s: Floats, t: Floats) -> Floats:
        """Covariance of level plus swing, without the variation of single slots."""
        return self.level(s, t) + (self.second(s, t) if self.swing else 0.0)

    def shown(self, s: Floats, t: Floats) -> Floats:
        """Covariance of shown counts: with each slot's own variation."""
        return self.value(s, t) + self.variation * (np.subtract.outer(s, t) == 0)


def side_by_side(*models: OneModel) -> LevelModels:
    """Several models of equal prior weight."""
    rows = [[m.walk, m.variation, m.slope, m.swing, m.retention, 1 / len(models)] for m in models]
    return LevelModels(*np.array(rows).T[:, :, None])


def condition(prior: Floats, cross: Floats, total: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance given `values` of covariance `total`, from the prior and the covariance with them."""
    gain = np.linalg.solve(total, cross.T).T
    return gain @ values, prior - gain @ cross.T
