"""Measures how well a simulation went: errors of the counts, and the worst window of all people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from wevent.budgets.feasibility import Promise, uses
from wevent.cli.city_requirements import CityRequirements
from wevent.releases.publisher import Publisher
from wevent.releases.release import Release


class Score:
    """How far the releases of a stream are from the truth, which only a simulation knows."""

    def __init__(self) -> None:
        self._squares = self._distances = 0.0
        self._counts = 0

    def note(self, release: Release, truth: npt.NDArray[np.int64]) -> None:
        """One more slot."""
        off = (release.counts - truth).astype(np.float64)
        self._squares += float(np.square(off).sum())
        self._distances += float(np.abs(off).sum())
        self._counts += off.size

    @property
    def squared(self) -> float:
        """Mean squared error of a count."""
        return self._squares / self._counts

    @property
    def absolute(self) -> float:
        """Mean absolute error of a count."""
        return self._distances / self._counts


class Spends:
    """What every person spent in every slot, in units (axes: person, slot)."""

    def __init__(self, people: int, slots: int) -> None:
        self._units = np.zeros((people, slots), np.int64)

    def note(self, publisher: Publisher, persons: npt.NDArray[np.int64], users: Sequence[str]) -> None:
        """Read what the last step cost these people out of the publisher's trace."""
        trace, members = publisher.trace, publisher.members
        if trace is not None:
            places = members.register.positions(users, trace.slot)
            self._units[persons, trace.slot - 1] = trace.spent[members.rows()[places]]

    def worst(self, requirements: CityRequirements) -> tuple[Fraction, int]:
        """The largest spent/allowed over all windows of all people, and how many windows there were.

        Guarantees:
            Computed by `feasibility`, which shares nothing with the ledger; people of the same past are
            looked at once.
        """
        largest, windows = Fraction(0), 0
        known: dict[tuple[bytes, tuple[Promise, ...]], tuple[Fraction, int]] = {}
        for person, units in enumerate(self._units):
            promises = requirements.promises(person)
            key = units.tobytes(), tuple(promises)
            if key not in known:
                ratios = [use.ratio for use in uses(units.tolist(), promises)]
                known[key] = max(ratios, default=Fraction(0)), len(ratios)
            largest, windows = max(largest, known[key][0]), windows + known[key][1]
        return largest, windows
