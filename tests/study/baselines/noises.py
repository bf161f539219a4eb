"""Noise for the tests of central baselines: recorded, silent, scripted or failing."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from wevent.noise import SeededNoise

Ints = npt.NDArray[np.int64]


class Recording(SeededNoise):
    """Seeded noise that remembers sensitivity, budget and values of each Laplace draw."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.draws: list[tuple[int, Fraction, list[int]]] = []

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        self.draws.append((sensitivity, epsilon, np.asarray(values).tolist()))
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)


class Silent(Recording):
    """Noise that adds nothing."""

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        return np.array(values, np.int64)


class Scripted(Recording):
    """Noise that adds the numbers of a list, one for each element, and then nothing."""

    def __init__(self, script: Iterable[int]) -> None:
        super().__init__()
        self._script = iter(script)

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        return np.array([value + next(self._script, 0) for value in np.asarray(values).tolist()], np.int64)


class LostError(Exception):
    """A draw that goes wrong."""


class Losing(Recording):
    """Seeded noise that fails in the first draw of chosen slots, without using up randomness."""

    def __init__(self, seed: int, slots: set[int]) -> None:
        super().__init__(seed)
        self.slots, self.slot = slots, 0

    def rekey(self) -> None:
        self.slot += 1

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        if self.slot in self.slots:
            raise LostError
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
