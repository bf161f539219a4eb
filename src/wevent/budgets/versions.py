"""Holds the fixed requirements that are in force or still alive, and computes the room and shares they leave.

A version is alive from the slot it starts until its last window closes, w - 1 slots after it ended
(SPEC §2). A row may carry several; the strictest live one decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.history import History
from wevent.units import UNBOUNDED, Units

IN_FORCE = 2**62
"""The end of a version that has not ended."""


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `epsilon` units in the `window` slots that end in any slot up to `until`."""

    epsilon: int
    window: int
    until: int

    def implies(self, other: Bound) -> bool:
        """Whether a row that keeps this bound keeps the other one too."""
        return self.epsilon <= other.epsilon and self.window >= other.window and self.until >= other.until


class Versions:
    """A table of live versions, axes: version.

    Guarantees:
        A version that ended in slot e with window w is used up to slot e + w - 1 and then dropped.
    """

    def __init__(self) -> None:
        self._table = np.zeros((5, 0), np.int64)  # axes (row, epsilon, window, start, end; version)
        self._derive()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._table.nbytes + self.share.nbytes + self.half.nbytes

    def begin(
        self, rows: npt.ArrayLike, epsilon: npt.ArrayLike, window: npt.ArrayLike, slot: int, end: int = IN_FORCE
    ) -> None:
        """Put versions into force from `slot` on, up to slot `end`."""
        given = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, np.int64)) for x in (rows, epsilon, window, slot, end))
        )
        self._table = np.concatenate([self._table, np.stack(given)], axis=1)
        self._derive()

    def end(self, row: int, slot: int) -> None:
        """End what is in force for a row; `slot` is the last one it was in force in."""
        if not self.row.size:
            return
        open_now = (self.row == row) & (self._table[4] == IN_FORCE)
        if open_now.any():
            self._table[4, open_now] = slot
            self._keep(~(open_now & (self._table[3] > slot)))  # never in force, so never alive

    def copy_row(self, source: int, target: int) -> None:
        """Give `target` all live versions of `source`."""
        copied = self._table[:, self.row == source].copy()
        copied[0] = target
        self._table = np.concatenate([self._table, copied], axis=1)
        self._derive()

    def drop_row(self, row: int) -> None:
        """Forget a row."""
        self._keep(self.row != row)

    def in_force(self, row: int) -> tuple[int, int] | None:
        """Budget and window that a row has in force."""
        found = np.flatnonzero((self.row == row) & (self._table[4] == IN_FORCE))
        return (int(self.epsilon[found[0]]), int(self.window[found[0]])) if found.size else None

    def bounds(self, row: int, last: int) -> list[Bound]:
        """The versions of a row that began up to slot `last`, as if they ended there at the latest."""
        found = self._table[1:, (self.row == row) & (self._table[3] <= last)].T.tolist()
        return [Bound(epsilon, window, min(end, last) + window - 1) for epsilon, window, _, end in found]

    def take(self, rows: npt.NDArray[np.int64]) -> Versions:
        """A copy of the live versions of some rows, which are numbered anew in the order given."""
        number = np.full(max(int(self.row.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1, np.int64)
        number[rows] = np.arange(rows.size)
        taken = Versions()
        taken._table = self._table.copy()
        taken._table[0] = number[self.row]
        taken._keep(taken._table[0] >= 0)
        return taken

    def prune(self, slot: int) -> None:
        """Drop what is dead in `slot`."""
        if slot > self._next_death:
            self._keep(slot <= np.minimum(self._table[4], IN_FORCE // 2) + self.window - 1)

    def least(self, values: Units, rows: int) -> Units:
        """The least value per row over its live versions, unbounded where there is none (axes: row)."""
        if self._aligned and rows == values.size:
            return values
        result = np.full(rows, UNBOUNDED, np.int64)
        np.minimum.at(result, self.row, values)
        return result

    def spent(self, history: History, wait: int = 0) -> tuple[Units, Units]:
        """Change and publish budgets in the window of each version, this slot left out (axes: version).

        With `wait`, what is left of it in the window that ends so many slots later.
        """
        return history.spent(np.maximum(self.window - wait, 1) if wait else self.window, self.row)

    def room(self, history: History, spent: tuple[Units, Units], wait: int = 0) -> Units:
        """What each row may still spend in all, 0 where its window reaches into forgotten slots (axes: row).

        With `wait`, what it may spend so many slots later if nothing is spent until then.
        """
        room = self.epsilon - spent[0] - spent[1]
        if not history.whole:
            room = np.where(history.slot + wait - self.window + 1 < history.known_since[self.row], 0, room)
        return self.least(room, history.rows)

    def left(self, history: History, spent: tuple[Units, Units]) -> Units:
        """Half the budget less the publications in the window, the least over live versions (axes: row)."""
        return self.least(self.half - spent[1], history.rows)

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        if not kept.all():
            self._table = self._table[:, kept]
        self._derive()

    def _derive(self) -> None:
        self.row, self.epsilon, self.window = self._table[0], self._table[1], self._table[2]
        self.half = self.epsilon // 2
        self.share = self.epsilon // (2 * self.window)
        self._aligned = bool(np.array_equal(self.row, np.arange(self.row.size)))
        ended = self._table[4] < IN_FORCE
        self._next_death = int((self._table[4] + self.window - 1)[ended].min()) if ended.any() else IN_FORCE

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        return {"table": self._table}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Versions:
        """The same versions again."""
        versions = cls()
        versions._table = state["table"].copy()
        versions._derive()
        return versions
