"""The joint normal distribution of levels, swings and values at many times, written down from covariances.

What the models of `releases.models` say, without their recursions: an oracle for filter and smoother.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wevent.releases.models import Models

Floats = NDArray[np.float64]

FIRST = 50.0
"""Slots that a first slope has walked for."""

MOST = 1e4
"""Standard deviation of a level before anything is known: far more than all else here."""


@dataclass(frozen=True)
class One:
    """One model at scale 1."""

    walk: float = 0.0
    white: float = 0.0
    slope: float = 0.0
    swing: float = 0.0
    memory: float = 1.0

    def models(self) -> Models:
        return together(self)

    def level(self, s: Floats, t: Floats) -> Floats:
        """Covariance of levels at times s (down) and t (across)."""
        a, b = np.minimum.outer(s, t), np.maximum.outer(s, t)
        glide = self.slope * (a * a * b / 2 - a**3 / 6 + FIRST * np.multiply.outer(s, t))
        return np.asarray(MOST**2 + self.walk * a + glide)

    def second(self, s: Floats, t: Floats) -> Floats:
        """Covariance of slopes or swings."""
        if self.swing:
            return np.asarray(self.swing * self.memory ** np.abs(np.subtract.outer(s, t)))
        return np.asarray(self.slope * (FIRST + np.minimum.outer(s, t)))

    def both(self, s: Floats, t: Floats) -> Floats:
        """Covariance of levels at times s with slopes at times t; swings are independent of the level."""
        a = np.minimum.outer(s, t)
        return np.asarray(self.slope * (FIRST * s[:, None] + s[:, None] * a - a * a / 2))

    def value(self, s: Floats, t: Floats) -> Floats:
        """Covariance of level plus swing, without what each slot has for itself."""
        return self.level(s, t) + (self.second(s, t) if self.swing else 0.0)

    def shown(self, s: Floats, t: Floats) -> Floats:
        """Covariance of what is to be shown: with each slot's own variation."""
        return self.value(s, t) + self.white * (np.subtract.outer(s, t) == 0)


def together(*several: One) -> Models:
    """As many models, believed in alike."""
    rows = [[one.walk, one.white, one.slope, one.swing, one.memory, 1 / len(several)] for one in several]
    return Models(*np.array(rows).T[:, :, None])


def given(prior: Floats, cross: Floats, total: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of what has such a prior and such a covariance with values of covariance `total`."""
    gain = np.linalg.solve(total, cross.T).T
    return gain @ values, prior - gain @ cross.T
