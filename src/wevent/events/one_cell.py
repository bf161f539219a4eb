"""Chooses the one cell of each person in a slot: the first, the last or the most frequent one.

A person's cell depends on that person's events alone. Events that are the same in person, instant and cell are one
event: a second delivery changes nothing.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting

OneCell = Literal["first", "last", "most_frequent"]
"""Which of a person's cells counts; ties go to the cell that was declared first."""

Ints = npt.NDArray[np.int64]


class OneCellChoice(Protocol):
    """Chooses for one slot, from events in any order and any batches."""

    def add(self, person: Ints, offset: Ints, cell: Ints) -> None:
        """Add events: person, microseconds since the slot began, cell (axes: event)."""
        ...

    def cells(self) -> Ints:
        """The one cell of each person, -1 for a person without events (axes: person)."""
        ...


def choose_one_cell(policy: OneCell, people: int, domain: int) -> OneCellChoice:
    """A fresh choice for one slot, over persons 0 … people - 1."""
    if policy == "most_frequent":
        return _MostFrequent(people, domain)
    if policy in ("first", "last"):
        return _Extreme(policy, people, domain)
    raise InvalidSetting("one_cell must be first, last or most_frequent", known=("first", "last", "most_frequent"))


class _Extreme:
    """The first or the last cell: one number per person holds both offset and cell."""

    def __init__(self, policy: OneCell, people: int, domain: int) -> None:
        self._last, self._domain = policy == "last", domain
        self._best = np.full(people, -1 if self._last else 2**63 - 1, np.int64)

    def add(self, person: Ints, offset: Ints, cell: Ints) -> None:
        if self._last:
            np.maximum.at(self._best, person, offset * self._domain + (self._domain - 1 - cell))
        else:
            np.minimum.at(self._best, person, offset * self._domain + cell)

    def cells(self) -> Ints:
        if self._last:
            return np.where(self._best < 0, -1, self._domain - 1 - self._best % self._domain)
        return np.where(self._best == 2**63 - 1, -1, self._best % self._domain)


class _MostFrequent:
    """The cell of most different instants."""

    def __init__(self, people: int, domain: int) -> None:
        self._people, self._domain = people, domain
        self._batches: list[Ints] = []

    def add(self, person: Ints, offset: Ints, cell: Ints) -> None:
        self._batches.append(np.stack([person, cell, offset]))

    def cells(self) -> Ints:
        best = np.full(self._people, -1, np.int64)
        if not self._batches:
            return best
        events = np.concatenate(self._batches, axis=1)
        events = events[:, np.lexsort(events[::-1])]
        fresh = np.ones(events.shape[1], bool)
        fresh[1:] = (events[:, 1:] != events[:, :-1]).any(axis=0)
        pairs = events[0, fresh] * self._domain + events[1, fresh]
        pair, often = np.unique(pairs, return_counts=True)
        np.maximum.at(best, pair // self._domain, often * self._domain + (self._domain - 1 - pair % self._domain))
        return np.where(best < 0, -1, self._domain - 1 - best % self._domain)
