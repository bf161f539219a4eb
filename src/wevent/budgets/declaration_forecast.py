"""Declarations some slots later: what rows declared and spent comes in, what will bind them then goes out.

For plans only. Until then everybody is taken to ask for what they ask for now, and to spend nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wevent.units import UNBOUNDED, Units


def parts(epsilon: Units, window: npt.NDArray[np.int64], interval: int) -> Units:
    """E / ceil(w/k), k = `interval`: what every k-th slot may cost; 0 where there is no window (axes: level)."""
    return epsilon // np.maximum(-(-window // interval), 1)


@dataclass(frozen=True, slots=True)
class Later:
    """Declarations that may still bind, and what each leaves.

    Attributes:
        reach: for so many slots from now on each binds, this slot included; what is declared now is declared
            again and binds for ever (axes: age, row).
        level: what was declared (axes: age, row).
        left: EF - everything spent since τ (axes: age, row).
        blocked: for so many slots from now on, this one included, it leaves nothing: its window reaches back to
            forgotten slots, where the same person may have declared before (axes: age, row).
    """

    reach: npt.NDArray[np.int64]
    level: npt.NDArray[np.integer[Any]]
    left: Units
    blocked: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, window: npt.NDArray[np.int64], level: npt.NDArray[np.integer[Any]], left: Units, since_forgotten: int
    ) -> Self:
        """From forward windows, levels and what is left, newest first, this slot at the head (axes: age, row).

        `since_forgotten` is how many slots ago the last forgotten slot was.

        A declaration that the next slot repeated, with nothing spent between, binds no longer and leaves no less: it is
        left out where that is so in all rows.
        """
        reach = window - np.arange(level.shape[0])[:, None]
        reach[0] = np.where(level[0] > 0, UNBOUNDED, 0)
        told = np.ones(level.shape[0], np.bool_)
        told[1:] = ((level[1:] != level[:-1]) | (left[1:] != left[:-1])).any(axis=1)
        return cls(reach[told], level[told], left[told], window[told] - since_forgotten)

    def least(self, values: Units, wait: int) -> Units:
        """The least of a value per level over what binds `wait` slots later, unbounded without one (axes: row)."""
        return np.where(self.reach > wait, values[self.level], UNBOUNDED).min(axis=0)

    def room(self, wait: int) -> Units:
        """The least left over what binds `wait` slots later, unbounded without one (axes: row)."""
        left = np.where(self.blocked > wait, np.minimum(self.left, 0), self.left)
        return np.where(self.reach > wait, left, UNBOUNDED).min(axis=0)
