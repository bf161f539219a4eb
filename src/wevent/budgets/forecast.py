"""Forecasts what rows may spend some slots later, for schedules that plan.

A forecast assumes that every requirement stays as it is and that nothing is spent until then. It decides nothing about
privacy: the ledger cuts every proposal to the room.

A plan depends on how many people have how much budget, not on who they are. So a forecast samples very many people with
dynamic requirements: evenly over the levels, each standing for several. A plan costs the same for a thousand people as
for a million. The sample depends on requirements and the order of rows, both public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wevent.units import UNBOUNDED, Units

MOST = 256
"""A forecast samples so many people with dynamic requirements, and at least one of each level."""

_AT_ONCE = 2**20
"""Fewer, if their histories have more slots than this in all."""

Places = npt.NDArray[np.int64]


def paced_parts(epsilon: Units, window: npt.NDArray[np.int64], interval: int) -> Units:
    """E / ceil(w/k), k = `interval`: what every k-th slot may cost; 0 where there is no window (axes: level)."""
    return epsilon // np.maximum(-(-window // interval), 1)


@dataclass(frozen=True, slots=True)
class DeclarationForecast:
    """Declarations that may still bind, and what each leaves.

    Attributes:
        binds: for so many slots from now on each binds, this slot included; what is in force now is declared
            again and binds for ever (axes: age, row).
        level: what was declared (axes: age, row).
        left: EF - everything spent since τ (axes: age, row).
        blocked: for so many slots from now on, this one included, it leaves nothing: its window reaches back to
            forgotten slots, where the same person may have declared before (axes: age, row).
    """

    binds: npt.NDArray[np.int64]
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
        binds = window - np.arange(level.shape[0])[:, None]
        binds[0] = np.where(level[0] > 0, UNBOUNDED, 0)
        kept = np.ones(level.shape[0], np.bool_)
        kept[1:] = ((level[1:] != level[:-1]) | (left[1:] != left[:-1])).any(axis=1)
        return cls(binds[kept], level[kept], left[kept], window[kept] - since_forgotten)

    def least(self, values: Units, wait: int) -> Units:
        """The least of a value per level over what binds `wait` slots later, unbounded without one (axes: row)."""
        return np.where(self.binds > wait, values[self.level], UNBOUNDED).min(axis=0)

    def room(self, wait: int) -> Units:
        """The least left over what binds `wait` slots later, unbounded without one (axes: row)."""
        left = np.where(self.blocked > wait, np.minimum(self.left, 0), self.left)
        return np.where(self.binds > wait, left, UNBOUNDED).min(axis=0)


def sample_size(span: int) -> int:
    """How many people with dynamic requirements a forecast samples if their histories have `span` slots."""
    return max(16, min(MOST, _AT_ONCE // span))


def sample_levels(levels: Places, most: int) -> tuple[Places, Places]:
    """Places spread evenly over the levels, at least one of each, ascending; and how many each stands for."""
    if levels.size <= most:
        return np.arange(levels.size), np.ones(levels.size, np.int64)
    counted = np.bincount(levels)
    people = counted[counted > 0]
    first = np.cumsum(people) - people
    small = levels.astype(np.uint16) if counted.size <= 2**16 else levels  # sorts in one pass
    order = np.argsort(small, kind="stable")
    places = np.unique(np.concatenate([first, np.arange(most) * levels.size // most]))
    group = np.searchsorted(first, places, side="right") - 1
    chosen = np.bincount(group, minlength=people.size)
    rank = np.arange(places.size) - (np.cumsum(chosen) - chosen)[group]
    stands_for = people[group] // chosen[group] + (rank < people[group] % chosen[group])
    picked = order[places]
    ascending = np.argsort(picked)
    return picked[ascending], stands_for[ascending]
