"""Records what estimators add noise to, and computes the exact loss of one person by all their draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from tests.support import Silent

from wevent.cohorts.histogram import RowTally
from wevent.decisions.estimators import Estimator
from wevent.decisions.evidence import PublicKnowledge
from wevent.decisions.selection import Selection

Ints = npt.NDArray[np.int64]
Draw = Callable[[Ints, int], "RecordingNoise"]
"""Draws for counts (axes: row, cell) and a sensitivity, and records them."""


class RecordingNoise(Silent):
    """Noise that adds nothing and records the values it is added to, and the price per unit."""

    def __init__(self) -> None:
        super().__init__(1)
        self.calls: list[tuple[Ints, Fraction]] = []

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        self.calls.append((np.asarray(values), epsilon / sensitivity))
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)


def draw(
    estimator: Estimator,
    counts: Ints,
    budgets: Ints,
    s: int,
    public: PublicKnowledge | None = None,
    change: Callable[[Selection], Selection] = lambda chosen: chosen,
) -> RecordingNoise:
    """Choose and draw, with four registered people in every row."""
    sizes, noise = np.full(budgets.size, 4), RecordingNoise()
    selection = estimator.choose(budgets, sizes, s, public)
    if selection.threshold:
        estimator.draw(RowTally(counts), change(selection), sizes, s, noise, public)
    return noise


def loss(draw: Draw, row: int, rows: int, moved: bool) -> Fraction:
    """What a person in a row loses by presence, or by the choice between two cells: exact, in ε."""
    without, s = np.ones((rows, 3), np.int64), 2 if moved else 1
    full, other = without.copy(), without.copy()
    full[row, 0] += 1
    other[row, 1] += int(moved)
    first, second = draw(other, s), draw(full, s)
    assert len(first.calls) == len(second.calls)
    total = Fraction(0)
    for (a, price), (b, same) in zip(first.calls, second.calls, strict=True):
        assert price == same
        total += int(np.abs(a - b).sum()) * price
    return total
