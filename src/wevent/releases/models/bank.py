"""Runs several models of each cell's level side by side and weights them by likelihood (SPEC §14).

How fast and how far the count of a cell moves is unknown. So several models run, and each counts by how well it
forecast the published values ([Magill65], [West97] ch. 12). The bank sees public numbers only and costs no budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wevent.releases.models.dynamics import Floats, LevelModels
from wevent.releases.models.forecast import ForecastState
from wevent.releases.models.grid import all_models

FORGETTING = 0.99
"""Per publication: a forecast of a hundred publications ago counts about a third."""

FALSE_JUMPS = 1e-3
"""How often Laplace noise alone may look like a jump in any cell, per publication."""

_CERTAIN = 2.5
"""Laplace noise exceeds so many times the jump threshold once in about a million cells."""

_JUMP_SLOTS = 300.0
"""Jumps are counted as if over at least so many slots, so that a first one does not seem frequent."""

_PRIOR_CELLS = 56.0
"""Prior weights count as much as so many cells in how often a model fits."""


def laplace_jump_threshold(cells: int) -> float:
    """The square of z at which Laplace noise, with probability exp(-z√2) in each cell, is a false jump that seldom."""
    return float(np.square(np.log(cells / FALSE_JUMPS)) / 2)


def new_bank(cells: int) -> ModelBank:
    """All models, before the first publication."""
    return ModelBank(cells, all_models(), laplace_jump_threshold(cells))


class ModelBank:
    """Models of one level per cell; arrays have the axes (model, cell), and none is written into once it is made.

    Args:
        cells: the number of cells.
        models: how each model moves.
        jump_threshold: a value whose mean squared surprise over models, in variances, is above this is a jump.

    Attributes:
        posterior: the state of each model after the last update (`models.dynamics`).
        prior: its state just before the last update.
        weight: of each model; at least 0, and the weights of a cell sum to 1.
        pending_jump: squared size per slot of a jump that the next value has to confirm; 0 without one (axes: cell).
        certain_jump: the same if it is too large for noise: a burst, if the next value does not confirm it.
        state_before_jump: the states before the pending jump.
        typical_jump: how far the mean cell moved in recent jumps; 0 before the first.

    Guarantees:
        Size and work depend on cells and models, never on how many slots have passed.
    """

    def __init__(self, cells: int, models: LevelModels, jump_threshold: float = np.inf) -> None:
        self.models = models
        self.posterior = np.zeros((5, models.size, cells))
        self.posterior[2] = np.inf
        self.prior = self.state_before_jump = self.posterior
        self.score = np.zeros((models.size, cells))
        self.weight = np.repeat(models.prior_weight, cells, axis=1)
        self.pending_jump = self.certain_jump = np.zeros(cells)
        self._jump_sum = np.zeros(cells)  # squared sizes of jumps, forgotten like scores
        self._jump_slots = self.typical_jump = 0.0
        self._jump_threshold = jump_threshold

    @property
    def jump_rate(self) -> Floats:
        """Squared error per slot that jumps add to a value that is repeated (axes: cell)."""
        return self._jump_sum / max(self._jump_slots, _JUMP_SLOTS)

    def begin(self, value: Floats, noise: Floats, most: float) -> None:
        """Take in the first values, which say nothing about the models; no level is above `most`."""
        self.posterior = self.prior = self.models.begin(value, noise, most)

    def update(self, gap: int, value: Floats, noise: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Take in the values of a slot `gap` slots after the last; return estimates and variances (axes: cell)."""
        self._judge_pending_jump(value, gap)
        prior = self.models.forecast(self.posterior, gap, scale)
        mean, variance = self.models.value(prior)
        variance = variance + self.models.variation * scale  # of the value that the noise was added to
        total = variance + noise
        surprise = value - mean
        squared = surprise * surprise
        mean_squared_surprise = (self.weight * (squared / total)).sum(axis=0)
        jumped = mean_squared_surprise > self._jump_threshold
        if jumped.any():  # all models begin anew there, and none is blamed [West97] §11.5
            excess = (self.weight * (squared - total)).sum(axis=0)
            self.pending_jump = np.where(jumped, np.maximum(excess, 0.0), 0.0)
            certain = mean_squared_surprise > _CERTAIN * self._jump_threshold
            self.certain_jump = np.where(certain, self.pending_jump, 0.0)
            self.state_before_jump = prior.copy()
            more = np.where(jumped, squared, 0.0)
            prior[2] += more
            variance, total = variance + more, total + more
        blame = np.where(jumped, 0.0, np.log(total) + squared / total)
        self.score = FORGETTING * self.score - 0.5 * blame
        self.weight = likelihood_weights(self.weight, self.score, self.models.prior_weight, _PRIOR_CELLS)
        self.posterior, self.prior = self.models.update(prior, surprise, total), prior
        return mix_models(self.weight, mean + (variance / total) * surprise, variance * (noise / total))

    def _judge_pending_jump(self, value: Floats, gap: int) -> None:
        """A jump that the next value does not confirm was noise, and the states before it are restored."""
        jumps = np.zeros_like(self._jump_sum)
        if self.pending_jump.any():
            before, after = (self.weight * self.state_before_jump[0]).sum(axis=0), self.levels()
            pending = self.pending_jump > 0
            confirmed = pending & (np.abs(value - after) < np.abs(value - before))
            self.posterior = np.where(pending & ~confirmed, self.state_before_jump, self.posterior)
            jumps = np.where(confirmed, self.pending_jump, self.certain_jump)
            self.pending_jump = self.certain_jump = np.zeros_like(self.pending_jump)
            if confirmed.any():
                rate = 0.3 if self.typical_jump else 1.0
                self.typical_jump += (float(np.sqrt(jumps).mean()) - self.typical_jump) * rate
        self._jump_sum = FORGETTING * self._jump_sum + jumps
        self._jump_slots = FORGETTING * self._jump_slots + gap

    def inflate_variance(self, variance: float) -> None:
        """Add to the variance of every level."""
        self.posterior = self.posterior.copy()
        self.posterior[2] += variance

    def forecast(self, scale: Floats) -> ForecastState:
        """A forecast of the slots after the last publication."""
        return ForecastState(self.models, self.posterior, self.weight, scale)

    def levels(self) -> Floats:
        """The level of each cell."""
        return (self.weight * self.models.value(self.posterior)[0]).sum(axis=0)

    def state(self) -> dict[str, Any]:
        """What the bank has learned, as arrays."""
        return {
            "posterior": self.posterior,
            "state_before_jump": self.state_before_jump,
            "score": self.score,
            "weight": self.weight,
            "pending_jump": self.pending_jump,
            "certain_jump": self.certain_jump,
            "jump_sum": self._jump_sum,
            "jumps": np.array([self._jump_slots, self.typical_jump]),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.posterior, self.state_before_jump = state["posterior"], state["state_before_jump"]
        self.score, self.weight = state["score"], state["weight"]
        self.pending_jump, self.certain_jump = state["pending_jump"], state["certain_jump"]
        self._jump_sum = state["jump_sum"]
        self._jump_slots, self.typical_jump = state["jumps"].tolist()


def likelihood_weights(weight: Floats, score: Floats, prior_weight: Floats, prior_cells: float) -> Floats:
    """Weights by likelihood; how often a model fits other cells is its prior in this one (axes: model, cell)."""
    fits = (weight.sum(axis=1, keepdims=True) + prior_cells * prior_weight) / (score.shape[1] + prior_cells)
    weight = fits * np.exp(score - score.max(axis=0))
    return np.asarray(weight / weight.sum(axis=0))


def mix_models(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance over models, from those of each model (axes: cell)."""
    middle = (weight * mean).sum(axis=0)
    return middle, (weight * (variance + np.square(mean - middle))).sum(axis=0)
