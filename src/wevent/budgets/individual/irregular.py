"""Keeps the change budgets that are no level's share, so that kernels can look them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.units import Units


class IrregularSpends:
    """Change budgets that are no level's share, slot by slot: rows ascending, values beside them.

    Attributes:
        rows, values: which row spent how many units; a slot's entries lie side by side (axes: entry).
        index: where the entries of a slot begin and how many there are, axes (start, count; slot modulo span).
    """

    def __init__(self, span: int) -> None:
        self.rows = np.zeros(16, np.int32)
        self.values = np.zeros(16, np.int64)
        self.index = np.zeros((2, span), np.int64)
        self._end = 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.rows.nbytes + self.values.nbytes

    def put(self, slot: int, rows: npt.NDArray[np.int64], values: Units) -> None:
        """Write one slot, over the one that left the ring."""
        place = slot % self.index.shape[1]
        self.index[1, place] = 0
        if self._end + rows.size > self.rows.size:
            self._pack(rows.size)
        self.rows[self._end : self._end + rows.size] = rows
        self.values[self._end : self._end + rows.size] = values
        self.index[:, place] = self._end, rows.size
        self._end += rows.size

    def extend(self, span: int, slots: npt.NDArray[np.int64]) -> None:
        """Make place for more slots; `slots` are those to keep."""
        index = np.zeros((2, span), np.int64)
        index[:, slots % span] = self.index[:, slots % self.index.shape[1]]
        self.index = index

    def _pack(self, more: int) -> None:
        """Move what is still needed to the front, into larger arrays if that is not enough."""
        needed = int(self.index[1].sum()) + more
        size = self.rows.size if 2 * needed <= self.rows.size else 2 * needed
        rows, values, end = np.zeros(size, np.int32), np.zeros(size, np.int64), 0
        for place, (start, count) in enumerate(self.index.T.tolist()):
            rows[end : end + count] = self.rows[start : start + count]
            values[end : end + count] = self.values[start : start + count]
            self.index[0, place] = end
            end += count
        self.rows, self.values, self._end = rows, values, end

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        return {"rows": self.rows, "values": self.values, "index": self.index, "end": self._end}

    def restore(self, state: dict[str, Any]) -> None:
        """Take everything over from `state()`."""
        self.rows, self.values, self.index, self._end = (state[name] for name in ("rows", "values", "index", "end"))
