"""A bank of local levels: noisy values with known variance come in, levels weighted by likelihood go out.

In each cell a level wanders by a random walk and the value of a slot varies around it; how fast and how far is not
known, so several models run side by side, and each counts by how well it foretold what was published
([Magill65], [West97] ch. 12). Public numbers only: nothing here costs budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FORGETTING = 0.99
"""Per publication: what was foretold a hundred publications ago counts about a third."""

FALSE_JUMPS = 1e-3
"""How often Laplace noise alone may look like a jump somewhere, per publication."""


def laplace_patience(cells: int) -> float:
    """The square of z at which Laplace noise, with probability exp(-z√2) in each cell, is a false jump that seldom."""
    return float(np.square(np.log(cells / FALSE_JUMPS)) / 2)


class Bank:
    """Models of one level per cell; arrays have the axes (model, cell), and none is written into once it is made.

    Args:
        cells: how many.
        process: of each model, the variance of the walk per slot, in units of a cell's `scale`.
        white: of each model, the variance of a slot's value around the level, in the same units.
        prior: of each model, the variance of the level before anything is known.
        belief: of each model, the weight before anything is known; by default all are alike.
        patience: a value whose mean squared surprise over models, in variances, is above this is a jump.

    Attributes:
        level, variance: of the level, after the last update.
        ahead: its variance just before that.
        weight: of each model.
        jumps: squared error per slot that jumps would add to a value that is shown on (axes: cell).
        doubted: the same of a jump that the next value has to confirm; 0 where there is none (axes: cell).
        held_level, held_variance: what was known before such a jump.

    Guarantees:
        Weights of each cell are at least 0 and sum to 1.
        Size and work depend on cells and models, never on how many slots have passed.
    """

    def __init__(
        self,
        cells: int,
        process: Floats,
        white: Floats,
        prior: Floats,
        belief: Floats | None = None,
        patience: float = np.inf,
    ) -> None:
        models = process.size
        self._belief = np.full((models, 1), 1 / models) if belief is None else (belief / belief.sum())[:, None]
        self.process, self.white = process[:, None], white[:, None]
        self.level = np.zeros((models, cells))
        self.variance = np.repeat(prior[:, None], cells, axis=1).astype(np.float64)
        self.ahead = self.variance
        self.score = np.zeros((models, cells))
        self.weight = np.repeat(self._belief, cells, axis=1)
        self.jumps = np.zeros(cells)
        self.doubted = np.zeros(cells)
        self.held_level, self.held_variance = self.level, self.variance
        self._patience = patience

    def begin(self, value: Floats, noise: Floats, most: float) -> None:
        """Where nothing is known but that no level is above `most`: the first values tell nothing about the models."""
        trust = 1 / (1 + noise / (most * most))
        self.level = np.broadcast_to(trust * value, self.level.shape).copy()
        self.variance = np.broadcast_to(trust * noise, self.variance.shape).copy()

    def update(self, gap: int, value: Floats, noise: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Take in the values of a slot `gap` slots after the last; return estimates and variances (axes: cell)."""
        self._judge(value)
        ahead = self.variance + self.process * (scale * gap)
        there = ahead + self.white * scale  # of the value that the noise was added to
        total = there + noise
        surprise = value - self.level
        off = surprise * surprise
        jumped = (self.weight * (off / total)).sum(axis=0) > self._patience
        if jumped.any():  # all models begin anew there, and none is blamed [West97] §11.5
            excess = (self.weight * (off - total)).sum(axis=0)
            self.doubted = np.where(jumped, np.maximum(excess, 0.0) / max(gap, 1), 0.0)
            self.held_level, self.held_variance = self.level, ahead
            ahead, there, total = (np.where(jumped, each + off, each) for each in (ahead, there, total))
        blame = np.where(jumped, 0.0, np.log(total) + off / total)
        self.score = FORGETTING * self.score - 0.5 * blame
        self._weigh()
        gain = ahead / total
        estimate = self.level + (there / total) * surprise
        self.level, self.variance, self.ahead = self.level + gain * surprise, ahead * (1 - gain), ahead
        return self._mixed(estimate, there * (noise / total))

    def _judge(self, value: Floats) -> None:
        """A jump that the next value does not confirm was noise, and what was known before it is known again."""
        jumps = np.zeros_like(self.jumps)
        if self.doubted.any():
            before, after = (self.weight * self.held_level).sum(axis=0), self.levels()
            real = np.abs(value - after) < np.abs(value - before)
            false = (self.doubted > 0) & ~real
            self.level = np.where(false, self.held_level, self.level)
            self.variance = np.where(false, self.held_variance, self.variance)
            jumps = np.where(real, self.doubted, 0.0)
            self.doubted = np.zeros_like(self.doubted)
        self.jumps = self.jumps + (1 - FORGETTING) * (jumps - self.jumps)

    def disturb(self, variance: float) -> None:
        """Let every level be less certain by this much."""
        self.variance = self.variance + variance

    def now(self, scale: Floats) -> tuple[Floats, Floats, Floats]:
        """Without news: the value, its variance, and by how much that grows per slot (axes: cell)."""
        mean, variance = self._mixed(self.level, self.variance + self.white * scale)
        return mean, variance, (self.weight * self.process).sum(axis=0) * scale

    def levels(self) -> Floats:
        """The level of each cell."""
        return (self.weight * self.level).sum(axis=0)

    def _weigh(self) -> None:
        """Weights by likelihood; how often a model fits in other cells is what is expected of it in this one."""
        models, cells = self.score.shape
        often = (self.weight.sum(axis=1, keepdims=True) + models * self._belief) / (cells + models)
        weight = often * np.exp(self.score - self.score.max(axis=0))
        self.weight = weight / weight.sum(axis=0)

    def _mixed(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        middle = (self.weight * mean).sum(axis=0)
        return middle, (self.weight * (variance + np.square(mean - middle))).sum(axis=0)

    def state(self) -> dict[str, Any]:
        """Everything that was learned, as arrays."""
        return {name: getattr(self, name) for name in _LEARNED}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what was learned before."""
        for name in _LEARNED:
            setattr(self, name, state[name])


_LEARNED = ("level", "variance", "score", "weight", "jumps", "doubted", "held_level", "held_variance")
