"""Simulates a city: says in which district each resident is in every slot.

Nobody in it is real, so that its true counts may be compared with the released ones. The seed moves residents and
nothing else: noise comes from the operating system.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

QUARTERS = 96
"""Slots of a day, 15 minutes each."""

_DISTRICTS = {  # name: (who lives there, who works there), in parts
    "Harbour": (4, 14),
    "Old Town": (8, 9),
    "Market": (5, 12),
    "Station": (3, 8),
    "Campus": (6, 13),
    "Mills": (7, 15),
    "Hospital": (2, 9),
    "Riverside": (14, 5),
    "Hillside": (16, 2),
    "Orchards": (15, 2),
    "Meadows": (12, 3),
    "Airfield": (8, 8),
}
DISTRICTS = tuple(_DISTRICTS)
"""The cells, declared beforehand."""

_MARKET = DISTRICTS.index("Market")


class City:
    """People with a home, a place of work and hours of their own.

    Guarantees:
        The same people and seed give the same movement.
    """

    def __init__(self, people: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        homes, works = (np.array(parts) / sum(parts) for parts in zip(*_DISTRICTS.values(), strict=True))
        self._home = self._random.choice(len(DISTRICTS), people, p=homes)
        self._work = self._random.choice(len(DISTRICTS), people, p=works)
        self._goes = self._random.normal(32, 4, people)  # around eight o'clock
        self._goes[self._random.random(people) < 0.3] = np.inf  # these stay in their district
        self._returns = self._random.normal(70, 5, people)  # around half past five

    def move(self, slot: int) -> npt.NDArray[np.int64]:
        """The district of each resident in a slot, -1 out of town (axes: person).

        Call it once for each slot, in order: every slot draws its own strollers.
        """
        quarter = (slot - 1) % QUARTERS
        busy = (self._goes <= quarter) & (quarter < self._returns)
        place = np.where(busy, self._work, self._home)
        chance = self._random.random(place.size)
        anywhere = self._random.integers(0, len(DISTRICTS), place.size)
        if 48 <= quarter < 56:  # lunch, from noon to two
            place = np.where(busy & (chance < 0.25), _MARKET, place)
        place = np.where(chance >= 0.98, anywhere, place)
        return np.where((chance >= 0.94) & (chance < 0.98), -1, place)


def clock(slot: int) -> str:
    """The time of day at which a slot begins."""
    hours, quarter = divmod((slot - 1) % QUARTERS, 4)
    return f"{hours:02d}:{15 * quarter:02d}"
