"""Keeps what individual rows declared and spent in the last slots, exactly and in few bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.individual.irregular import IrregularSpends
from wevent.budgets.individual.kernels.arrays import BLOCK, Codes, Int64s, LevelArrays, PastArrays
from wevent.budgets.individual.kernels.reading import read_change_spends
from wevent.budgets.individual.kernels.writing import write_ring
from wevent.budgets.levels import LevelTable
from wevent.units import Units

_SCALARS = ("span", "slot", "known", "forgotten", "no_room_before", "_newest", "_publications")
_ARRAYS = ("declared", "change_codes", "published", "publish_spends")


class IndividualPast:
    """Declared levels, change budgets and publish budgets of the last slots.

    Attributes:
        table: the dynamic requirements in use, shared with `Declarations`.
        slot: the slot that is charged next.
        span: how many slots the rings hold; the oldest leaves when a slot is charged.
        code: the type of codes, wide enough for every level and the irregular code.
        known: rows born before this slot remember nothing older than it.
        forgotten: windows that reach back to this slot are unknown (as in `history`).
        no_room_before: the first slot in which any row may have room (as in `history`).
        declared, change_codes, published, publish_spends: see the table in `wevent.budgets.individual`.
    """

    def __init__(self, table: LevelTable, span: int, slot: int) -> None:
        self.table, self.span, self.slot = table, span, slot
        self.code: Any = np.uint8
        self.declared: Codes = np.zeros((0, span, BLOCK), self.code)
        self.change_codes: Codes = np.zeros((0, span, BLOCK), self.code)
        self.irregular = IrregularSpends(span)
        self.published = np.zeros(8, np.int64)
        self.publish_spends = np.zeros((0, 8), np.int64)
        self._newest, self._publications = 7, 0
        self.known = self.forgotten = self.no_room_before = -(2**62)

    @property
    def irregular_code(self) -> int:
        """The code of a change budget that is no level's share."""
        return int(np.iinfo(self.code).max)

    @property
    def publications(self) -> int:
        """How many publications are kept."""
        return self._publications

    @property
    def code_bytes(self) -> int:
        """Bytes of one code."""
        return int(np.dtype(self.code).itemsize)

    @property
    def places(self) -> int:
        """Publications that can be kept without growing."""
        return int(self.published.size)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS) + self.irregular.nbytes

    def levels(self) -> LevelArrays:
        """The levels for the kernels."""
        table = self.table
        return LevelArrays(
            table.backward, table.backward_window, table.half, table.forward, table.forward_window, table.share
        )

    def arrays(self) -> PastArrays:
        """The past for the kernels, as of before the slot that is charged next."""
        return PastArrays(
            self.declared, self.change_codes, self.irregular.rows, self.irregular.values, self.irregular.index,
            self.published, self.publish_spends, self._newest, self._publications, self.irregular_code, self.span,
            self.known, self.forgotten, self.slot, self.table.longest,
        )  # fmt: skip

    # --- rows ------------------------------------------------------------------------------------

    def grow(self, more: int) -> None:
        """Make place for more rows without a past."""
        self.publish_spends = np.concatenate([self.publish_spends, np.zeros((more, self.published.size), np.int64)])
        blocks = -(-self.publish_spends.shape[0] // BLOCK) - self.declared.shape[0]
        empty = np.zeros((blocks, self.span, BLOCK), self.code)
        self.declared = np.concatenate([self.declared, empty])
        self.change_codes = np.concatenate([self.change_codes, empty])

    def clear(self, rows: Int64s) -> None:
        """Make rows as if they had never declared or spent anything."""
        self.declared[rows >> 3, :, rows & 7] = 0
        self.change_codes[rows >> 3, :, rows & 7] = 0
        self.publish_spends[rows] = 0

    def extend(self, span: int) -> None:
        """Remember `span` slots back from now on; what has left the rings stays forgotten."""
        oldest = self.slot - self.span + 1
        slots = np.arange(max(1, oldest), self.slot)
        for name in ("declared", "change_codes"):
            ring = getattr(self, name)
            wider = np.zeros((ring.shape[0], span, BLOCK), self.code)
            wider[:, slots % span] = ring[:, slots % self.span]
            setattr(self, name, wider)
        self.irregular.extend(span, slots)
        if oldest > 1:
            self.known = max(self.known, oldest)
        self.span = span

    def widen(self, code: Any) -> None:
        """Use wider codes from now on."""
        irregular, self.code = self.irregular_code, code
        change_codes = self.change_codes.astype(code)
        change_codes[self.change_codes == irregular] = self.irregular_code
        self.declared, self.change_codes = self.declared.astype(code), change_codes

    # --- writing ---------------------------------------------------------------------------------

    def encode(self, change_budget: Units, declared_level: Codes) -> Codes:
        """Codes of any change budgets: the declared level where that is its share, else 0 or the irregular code."""
        others = np.where(change_budget == 0, 0, self.irregular_code)
        return np.where(change_budget == self.table.share[declared_level], declared_level, others).astype(self.code)

    def write(self, declared_level: Codes, codes: Codes, change_budget: Units) -> None:
        """Write what rows declare and spend as change budget in the slot, over the slot that leaves the rings."""
        irregular = np.flatnonzero(codes == self.irregular_code)
        self.irregular.put(self.slot, irregular, change_budget[irregular])
        write_ring(self.declared, self.slot % self.span, declared_level)
        write_ring(self.change_codes, self.slot % self.span, codes)

    def publish(self, spent: Units) -> None:
        """Write the publish budgets of the slot, in the place of a publication that no window reaches."""
        size = self.published.size
        place = (self._newest + 1) % size
        if self._publications == size and self.published[place] > self.slot - self.span:
            order = (place + np.arange(size)) % size
            self.published = np.concatenate([self.published[order], np.zeros(size, np.int64)])
            wider = np.zeros((self.publish_spends.shape[0], 2 * size), np.int64)
            wider[:, :size] = self.publish_spends[:, order]
            self.publish_spends = wider
            place = size
        self._publications = min(self._publications + 1, self.published.size)
        self.published[place] = self.slot
        self.publish_spends[:, place] = spent
        self._newest = place

    # --- reading: the last span - 1 slots, oldest first (axes: slot, row) ------------------------

    def declared_levels(self, rows: Int64s) -> Int64s:
        """What rows declared."""
        return self._unroll(self.declared, rows).astype(np.int64)

    def change_budgets(self, rows: Int64s) -> Units:
        """What rows spent as change budget."""
        codes = self._unroll(self.change_codes, rows)
        irregular = codes == self.irregular_code
        result = self.table.share[np.where(irregular, 0, codes)]
        buffer = np.empty(self.span - 1, np.int64)
        for k in np.flatnonzero(irregular.any(axis=0)).tolist():
            read_change_spends(self.levels(), self.arrays(), int(rows[k]), buffer)
            result[:, k] = buffer
        return result

    def publish_budgets(self, rows: Int64s) -> Units:
        """What rows spent as publish budget."""
        result = np.zeros((self.span - 1, rows.size), np.int64)
        for place in np.flatnonzero(self.published > max(self.slot - self.span, 0)).tolist():
            result[self.published[place] - self.slot] = self.publish_spends[rows, place]
        return result

    def last_spend(self, row: int, slot: int) -> int:
        """The publish budget of a row in `slot`, if that was the last publication; otherwise 0."""
        newest = self._newest
        return int(self.publish_spends[row, newest]) if self._publications and self.published[newest] == slot else 0

    def leaving(self) -> int:
        """The place of the publication that has just left the span, or -1.

        What an earlier, shorter span forgot has left before.
        """
        last = self.slot - self.span
        found = np.flatnonzero(self.published == last) if last >= max(self.known, 1) else np.empty(0, np.int64)
        return int(found[0]) if found.size else -1

    def _unroll(self, ring: Codes, rows: Int64s) -> npt.NDArray[Any]:
        slots = np.arange(self.slot - self.span + 1, self.slot)
        values = ring[rows[None, :] >> 3, (slots % self.span)[:, None], rows[None, :] & 7]
        return np.where((slots >= 1)[:, None], values, 0)

    # --- bytes -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        return {name: getattr(self, name) for name in (*_SCALARS, *_ARRAYS)} | {"irregular": self.irregular.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take everything over from `state()`."""
        for name in (*_SCALARS, *_ARRAYS):
            setattr(self, name, state[name])
        self.code = self.declared.dtype.type
        self.irregular.restore(state["irregular"])
