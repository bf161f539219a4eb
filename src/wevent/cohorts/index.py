"""Finds the people in chosen rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RowNumbers = npt.NDArray[np.int64]

_FEW_ROWS = 2**15
"""Up to this many rows, sorting positions by row is one pass over the bytes of a short number."""


class RowIndex:
    """Positions sorted by row, built when it is first needed.

    Guarantees:
        `people(group)` finds exactly the positions whose row has a group, each with that group.
    """

    def __init__(self, rows: RowNumbers) -> None:
        self.rows = rows
        self._sorted: tuple[RowNumbers, RowNumbers] | None = None

    def people(self, group: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
        """Positions in rows with `group` >= 0, and their groups (axes of `group`: row; of the results: person)."""
        if group.size > _FEW_ROWS:
            which = np.append(group, -1)[self.rows]  # rows of -1, where the owner has left, find the last element
            found = np.flatnonzero(which >= 0)
            return found, which[found]
        self.prepare(group.size)
        order, start = self._sorted or self._sort(group.size)
        chosen = np.flatnonzero(group >= 0)
        pieces = [order[start[row] : start[row + 1]] for row in chosen.tolist()]
        if not pieces:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(pieces), np.repeat(group[chosen], [piece.size for piece in pieces])

    def prepare(self, many: int) -> None:
        """Sort now, for `many` rows, instead of when people are first looked up."""
        if self._sorted is None and many <= _FEW_ROWS:
            self._sorted = self._sort(many)

    def _sort(self, many: int) -> tuple[RowNumbers, RowNumbers]:
        listed = np.flatnonzero(self.rows >= 0)
        order = listed[np.argsort(self.rows[listed].astype(np.int16), kind="stable")]
        sizes = np.bincount(self.rows[listed], minlength=many)
        return order, np.concatenate([[0], np.cumsum(sizes)])
