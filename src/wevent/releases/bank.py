"""A bank of models: noisy values with known variance come in, levels weighted by likelihood go out.

How fast and how far the count of a cell moves is not known, so several models run side by side, and each counts by how
well it foretold what was published ([Magill65], [West97] ch. 12). Public numbers only: nothing here costs budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wevent.releases.models import Floats, Models

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
        models: how each moves.
        patience: a value whose mean squared surprise over models, in variances, is above this is a jump.

    Attributes:
        state: what each model knows after the last update (`releases.models`).
        ahead: what it knew just before that.
        weight: of each model.
        doubted: squared size per slot of a jump that the next value has to confirm; 0 where there is none (axes: cell).
        certain: the same where it is too large for noise: a burst, if the next value does not confirm it.
        held: what was known before such a jump.
        reach: how far the mean cell goes in a jump, lately; 0 before any.

    Guarantees:
        Weights of each cell are at least 0 and sum to 1.
        Size and work depend on cells and models, never on how many slots have passed.
    """

    def __init__(self, cells: int, models: Models, patience: float = np.inf) -> None:
        self.models = models
        self.state = np.zeros((5, models.size, cells))
        self.state[2] = np.inf
        self.ahead = self.held = self.state
        self.score = np.zeros((models.size, cells))
        self.weight = np.repeat(models.belief, cells, axis=1)
        self.doubted = self.certain = np.zeros(cells)
        self._jumped = np.zeros(cells)
        self._seen = self.reach = 0.0
        self._patience = patience

    @property
    def jumps(self) -> Floats:
        """Squared error per slot that jumps would add to a value that is shown on (axes: cell)."""
        return self._jumped / max(self._seen, _FEW)

    def begin(self, value: Floats, noise: Floats, most: float) -> None:
        """Where nothing is known but that no level is above `most`: the first values tell nothing about the models."""
        self.state = self.ahead = self.models.begin(value, noise, most)

    def update(self, gap: int, value: Floats, noise: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Take in the values of a slot `gap` slots after the last; return estimates and variances (axes: cell)."""
        self._judge(value, gap)
        ahead = self.models.ahead(self.state, gap, scale)
        mean, there = self.models.shown(ahead)
        there = there + self.models.white * scale  # of the value that the noise was added to
        total = there + noise
        surprise = value - mean
        off = surprise * surprise
        strange = (self.weight * (off / total)).sum(axis=0)
        jumped = strange > self._patience
        if jumped.any():  # all models begin anew there, and none is blamed [West97] §11.5
            excess = (self.weight * (off - total)).sum(axis=0)
            self.doubted = np.where(jumped, np.maximum(excess, 0.0), 0.0)
            self.certain = np.where(strange > _CERTAIN * self._patience, self.doubted, 0.0)
            self.held = ahead.copy()
            more = np.where(jumped, off, 0.0)
            ahead[2] += more
            there, total = there + more, total + more
        blame = np.where(jumped, 0.0, np.log(total) + off / total)
        self.score = FORGETTING * self.score - 0.5 * blame
        self._weigh()
        self.state, self.ahead = self.models.learn(ahead, surprise, total), ahead
        return self._mixed(mean + (there / total) * surprise, there * (noise / total))

    def _judge(self, value: Floats, gap: int) -> None:
        """A jump that the next value does not confirm was noise, and what was known before it is known again."""
        jumps = np.zeros_like(self._jumped)
        if self.doubted.any():
            before, after = (self.weight * self.held[0]).sum(axis=0), self.levels()
            real = (self.doubted > 0) & (np.abs(value - after) < np.abs(value - before))
            false = (self.doubted > 0) & ~real
            self.state = np.where(false, self.held, self.state)
            jumps = np.where(real, self.doubted, self.certain)
            self.doubted = self.certain = np.zeros_like(self.doubted)
            if real.any():
                self.reach += (float(np.sqrt(jumps).mean()) - self.reach) * (0.3 if self.reach else 1.0)
        keep = FORGETTING
        self._jumped, self._seen = keep * self._jumped + jumps, keep * self._seen + gap

    def disturb(self, variance: float) -> None:
        """Let every level be less certain by this much."""
        self.state = self.state.copy()
        self.state[2] += variance

    def later(self, scale: Floats) -> Later:
        """What is known of the slots to come without news."""
        return Later(self.models, self.state, self.weight, scale)

    def levels(self) -> Floats:
        """The level of each cell."""
        return (self.weight * self.models.shown(self.state)[0]).sum(axis=0)

    def _weigh(self) -> None:
        """Weights by likelihood; how often a model fits in other cells is what is expected of it in this one."""
        cells = self.score.shape[1]
        often = (self.weight.sum(axis=1, keepdims=True) + _BELIEF * self.models.belief) / (cells + _BELIEF)
        weight = often * np.exp(self.score - self.score.max(axis=0))
        self.weight = weight / weight.sum(axis=0)

    def _mixed(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        middle = (self.weight * mean).sum(axis=0)
        return middle, (self.weight * (variance + np.square(mean - middle))).sum(axis=0)

    def kept(self) -> dict[str, Any]:
        """Everything that was learned, as arrays."""
        learned = {"state": self.state, "held": self.held, "score": self.score, "weight": self.weight}
        return learned | {
            "doubted": self.doubted,
            "certain": self.certain,
            "jumped": self._jumped,
            "seen": np.array([self._seen, self.reach]),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on with what was learned before."""
        self.state, self.held, self.score, self.weight = (kept[name] for name in ("state", "held", "score", "weight"))
        self.doubted, self.certain, self._jumped = (kept[name] for name in ("doubted", "certain", "jumped"))
        self._seen, self.reach = (float(each) for each in kept["seen"])


class Later:
    """Values of the slots after a publication: mean and variance as sums of a few functions of the time that passed.

    Each model's mean and mean square are sums of powers of i and of its memory; weighted sums over models have the
    same form, so that a slot costs the same however many models there are.
    """

    def __init__(self, models: Models, state: Floats, weight: Floats, scale: Floats) -> None:
        self._memories, kind = models.memories, models.kinds
        middle = (weight * models.shown(state)[0]).sum(axis=0)
        level, second = state[0] - middle, state[1]  # around the middle, so that no digits are lost
        _, _, of_level, both, of_second = state
        own = weight * scale
        drift = kind @ (weight * second)
        cross = kind @ (weight * (both + level * second)) * 2
        square = kind @ (weight * (of_second + second * second))
        still = weight * (level * level + of_level) + own * (models.white + models.swing)
        self._mean = np.concatenate([[middle + (weight * level).sum(axis=0)], drift])
        first = [still.sum(axis=0), cross[0] + (own * models.walk).sum(axis=0), square[0]]
        first.append((own * models.slope).sum(axis=0) / 3)
        self._square = np.concatenate([first, cross[1:], square[1:] - kind[1:] @ (own * models.swing)])
        self._middle = middle

    def at(self, i: int) -> tuple[Floats, Floats]:
        """Mean and variance `i` slots later (axes: cell)."""
        left = self._memories**i
        mean = np.concatenate([[1.0, i], left]) @ self._mean
        square = np.concatenate([[1.0, i, i * i, i**3], left, left * left]) @ self._square
        return mean, np.maximum(square - np.square(mean - self._middle), 0.0)


_CERTAIN = 2.5
"""Laplace noise is above so many times the patience once in about a million cells."""

_FEW = 300.0
"""Slots that must have been seen before jumps can be called frequent."""

_BELIEF = 56.0
"""What is believed beforehand of how often a model fits counts as much as so many cells."""
