"""Finds the fullest window, as spent over allowed, in what rows spent slot by slot.

It shares no code with the ledger: whole numbers, running sums, and the promise of SPEC §2 as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from wevent import Dynamic, Fixed
from wevent.extend import Units


class FixedWindowCheck:
    """Rows whose requirements never change: every window of w slots holds at most E.

    Guarantees:
        `worst` is exactly the largest sum over w consecutive slots divided by E, over all rows and windows.
    """

    def __init__(self, required: Sequence[Fixed]) -> None:
        self._epsilon = np.array([requirement.units for requirement in required], np.int64)
        self._window = np.array([requirement.window for requirement in required], np.int64)
        self._span = int(self._window.max(initial=1)) + 1
        self._totals = np.zeros((self._span, len(required)), np.int64)  # running sums, wrap harmlessly
        self._most = np.zeros(len(required), np.int64)
        self._rows = np.arange(len(required))
        self._slot = 0

    def add(self, spent: Units) -> None:
        """Add a slot: what each row spent, all parts together (axes: row)."""
        self._slot += 1
        position = self._slot % self._span
        np.add(self._totals[position - 1], spent, out=self._totals[position])
        window_spend = self._totals[position] - self._totals[(self._slot - self._window) % self._span, self._rows]
        np.maximum(self._most, window_spend, out=self._most)

    def worst(self) -> Fraction:
        """The largest spent/allowed so far; above 1 a promise is broken."""
        pairs = zip(self._most.tolist(), self._epsilon.tolist(), strict=True)
        return max((Fraction(spent, allowed) for spent, allowed in pairs), default=Fraction(0))


class DynamicWindowCheck:
    """Rows whose requirements may change in every slot: forward and backward windows of each declaration.

    Guarantees:
        `worst` is the largest ratio over all declarations: what was spent from τ to τ+wF-1 over EF, and what was
        spent from τ-wB+1 to τ over EB where slot τ itself spent something.
    """

    def __init__(self, required: Sequence[Dynamic | Fixed]) -> None:
        self._known: dict[Dynamic | Fixed, int] = {}
        self._table: list[tuple[int, int, int, int]] = []
        self._index = np.array([self._level(requirement) for requirement in required], np.int64)
        self._levels: list[npt.NDArray[np.int64]] = []
        self._spends: list[Units] = []

    def change(self, changed: Sequence[tuple[int, Dynamic | Fixed]]) -> None:
        """Some rows' requirements change from the next slot on."""
        self._index = self._index.copy()
        for row, requirement in changed:
            self._index[row] = self._level(requirement)

    def add(self, spent: Units) -> None:
        """Add a slot."""
        self._levels.append(self._index)
        self._spends.append(spent.copy())

    def worst(self) -> Fraction:
        """The fullest window of any declaration."""
        if not self._spends:
            return Fraction(0)
        spends, levels = np.stack(self._spends), np.stack(self._levels)
        totals = np.concatenate([np.zeros((1, spends.shape[1]), np.int64), np.cumsum(spends, axis=0)])
        table = np.array(self._table, np.int64)
        backward_epsilon, backward_window, forward_epsilon, forward_window = table.T[:, levels]
        slot, row = np.indices(levels.shape)
        end = np.minimum(slot + forward_window, len(spends))
        forward = totals[end, row] - totals[slot, row]
        start = np.maximum(slot + 1 - backward_window, 0)
        backward = np.where(spends > 0, totals[slot + 1, row] - totals[start, row], 0)
        return max(_largest(forward, forward_epsilon), _largest(backward, backward_epsilon))

    def _level(self, requirement: Dynamic | Fixed) -> int:
        if requirement not in self._known:
            self._known[requirement] = len(self._table)
            if isinstance(requirement, Fixed):  # it binds forward from each slot, and so over all windows
                self._table.append((requirement.units, requirement.window, requirement.units, requirement.window))
            else:
                side = requirement.backward
                self._table.append((side.units, side.window, requirement.forward.units, requirement.forward.window))
        return self._known[requirement]


def _largest(spent: Units, allowed: Units) -> Fraction:
    """The largest exact quotient."""
    return max(Fraction(int(spent[allowed == limit].max()), limit) for limit in np.unique(allowed).tolist())
