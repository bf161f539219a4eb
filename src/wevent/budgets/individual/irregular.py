"""Part-1 spends that are no level's share: rows and values of a slot come in, arrays to look them up go out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.units import Units


class IrregularSpends:
    """Part-1 spends that are no level's share, slot by slot: rows ascending, values beside them."""

    def __init__(self, span: int) -> None:
        self.rows = np.zeros(16, np.int32)
        self.values = np.zeros(16, np.int64)
        self.index = np.zeros((2, span), np.int64)
        self._end = 0

    @property
    def start(self) -> npt.NDArray[np.int64]:
        """Where the rows of a slot begin (axes: slot modulo span)."""
        return self.index[0]

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """How many there are (axes: slot modulo span)."""
        return self.index[1]

    @property
    def arrays(self) -> tuple[npt.NDArray[np.int32], Units, npt.NDArray[np.int64]]:
        """Rows, values and index, as the kernels take them."""
        return self.rows, self.values, self.index

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.rows.nbytes + self.values.nbytes

    def put(self, slot: int, rows: npt.NDArray[np.int64], values: Units) -> None:
        """Write one slot, over the one that left the ring."""
        place = slot % self.start.size
        self.count[place] = 0
        if self._end + rows.size > self.rows.size:
            self._pack(rows.size)
        self.rows[self._end : self._end + rows.size] = rows
        self.values[self._end : self._end + rows.size] = values
        self.start[place], self.count[place] = self._end, rows.size
        self._end += rows.size

    def extend(self, span: int, slots: npt.NDArray[np.int64]) -> None:
        """Make place for more slots; `slots` are those to keep."""
        index = np.zeros((2, span), np.int64)
        index[:, slots % span] = self.index[:, slots % self.start.size]
        self.index = index

    def _pack(self, more: int) -> None:
        """Move what is still needed to the front, into larger arrays if that is not enough."""
        needed = int(self.count.sum()) + more
        room = self.rows.size if 2 * needed <= self.rows.size else 2 * needed
        rows, values, end = np.zeros(room, np.int32), np.zeros(room, np.int64), 0
        for place in range(self.start.size):
            start, count = int(self.start[place]), int(self.count[place])
            rows[end : end + count] = self.rows[start : start + count]
            values[end : end + count] = self.values[start : start + count]
            self.start[place] = end
            end += count
        self.rows, self.values, self._end = rows, values, end

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        return {"rows": self.rows, "values": self.values, "index": self.index, "end": self._end}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> IrregularSpends:
        """The same again."""
        irregular = cls(1)
        irregular.rows, irregular.values, irregular.index = state["rows"], state["values"], state["index"]
        irregular._end = state["end"]
        return irregular
