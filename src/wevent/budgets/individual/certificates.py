"""Keeps the certificates of individual rows: what is proven of their past declarations, and until which slot."""

from __future__ import annotations

from typing import Any

import numpy as np

from wevent.budgets.forecast import paced_parts
from wevent.budgets.individual.kernels import certifying
from wevent.budgets.individual.kernels.arrays import (
    IRREGULAR,
    LATER,
    CertificateArrays,
    Codes,
    Int64s,
    LevelArrays,
    Marks,
    RowArrays,
    SavedArrays,
    clear,
    grown,
)
from wevent.budgets.individual.past import IndividualPast
from wevent.units import Units

NOT_PACED = 0
"""The interval of certificates of halves and shares."""


class Certificates:
    """What is proven of each row's past declarations.

    Attributes:
        interval: what the certificates are of: publications at this interval, or halves and shares (`NOT_PACED`).
        arrays: the least left and the least share; exact until they expire.
        saved: what a declaration saved for absorption; a lower bound of the most saved. None until absorption offers.
        sums: change and publish budgets of the last span - 1 slots, axes (row, part); an upper bound for every
            window. Empty until a backward window of two slots or more offers.
        not_resting: so many rows, from the first on, are proven not to rest in the next slot.
    """

    def __init__(self, past: IndividualPast) -> None:
        self._past = past
        self.interval = NOT_PACED
        zeros, later = np.zeros(0, np.int64), np.zeros((0, LATER), np.int64)
        counts, codes = np.zeros(0, np.uint8), np.zeros(0, past.code)
        self.arrays = CertificateArrays(zeros, zeros, later, later, counts, zeros, zeros, codes, zeros)
        self.saved: SavedArrays | None = None
        self.sums: Units = np.zeros((0, 2), np.int64)
        self.not_resting = 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in (*self.arrays, *(self.saved or ()), self.sums))

    @property
    def levels(self) -> LevelArrays:
        """The levels that the certificates are of: for a pace, EF and EF / ceil(wF/k) stand for EF/2 and the share."""
        levels = self._past.levels()
        if self.interval == NOT_PACED:
            return levels
        share = paced_parts(levels.forward, levels.forward_window, self.interval)
        return levels._replace(half=levels.forward, share=share)

    # --- rows ------------------------------------------------------------------------------------

    def grow(self, more: int) -> None:
        """Make place for more rows without a past."""
        self.arrays = grown(self.arrays, more)
        self.saved = self.saved and grown(self.saved, more)
        if self.sums.size:
            self.sums = np.concatenate([self.sums, np.zeros((more, 2), np.int64)])

    def clear(self, rows: Int64s) -> None:
        """Make rows as if they had never declared or spent anything."""
        clear(self.arrays, rows)
        if self.saved:
            clear(self.saved, rows)
        if self.sums.size:
            self.sums[rows] = 0

    def widen(self, code: Any) -> None:
        """Use wider codes from now on."""
        self.arrays = self.arrays._replace(share_level=self.arrays.share_level.astype(code))
        self.saved = self.saved and self.saved._replace(level=self.saved.level.astype(code))

    # --- what is kept ----------------------------------------------------------------------------

    def keep_sums(self) -> None:
        """Keep sums from now on."""
        if not self.sums.size:
            self.sums = np.zeros((self.arrays.left.size, 2), np.int64)
            certifying.sum_up(self._past.levels(), self._past.arrays(), self.sums)

    def keep_saved(self) -> SavedArrays:
        """Keep what was saved from now on; nothing is proven at first."""
        if self.saved is None:
            none = np.zeros(0, np.int64)
            self.saved = grown(SavedArrays(none, np.zeros(0, self._past.code), none), self.arrays.left.size)
        return self.saved

    def keep_interval(self, interval: int, rows: RowArrays) -> None:
        """Keep certificates of publications at this interval, or of halves and shares, from now on."""
        if interval == self.interval:
            return
        self.arrays.share_until[:] = 0
        if NOT_PACED in (self.interval, interval):
            self.arrays.left_until[:] = 0
            self.arrays.later_count[:] = 0
            if self._past.change_codes.any() or (interval == NOT_PACED and self._past.publications):
                rows.flags[:] |= IRREGULAR  # a half may be overspent, or something spent as change budget
        self.interval = interval
        expired = np.ones(rows.flags.size, np.bool_)
        self._take_declarations(np.zeros_like(rows.closed_level), expired)
        self._rescan(expired)

    def take_slot(self, rows: RowArrays, spent: Units) -> None:
        """Take the slot that was closed last in; `spent` are its publish budgets, empty if it published nothing."""
        touched = np.empty(rows.closed_level.size, np.bool_)
        certifying.mark_touched(self.levels, self.arrays, rows.closed_level, self._past.slot, touched)
        self._take_declarations(rows.closed_level, touched)
        if spent.size:
            certifying.take_publication(self.arrays, rows.flags, spent)
            self.not_resting = 0
        self._rescan(touched)
        levels, past = self._past.levels(), self._past.arrays()
        if self.saved:
            certifying.take_saved(levels, self.saved, rows.closed_level, past.slot, spent)
        if self.sums.size:
            certifying.take_sums(levels, past, self.sums, spent, self._past.leaving())

    def _take_declarations(self, closed_level: Codes, touched: Marks) -> None:
        """Take declarations into marked rows; leaves those marked whose least left expired."""
        certifying.take_declarations(self.levels, self._past.arrays(), self.arrays, closed_level, touched)

    def _rescan(self, expired: Marks) -> None:
        rows = np.flatnonzero(expired)
        if rows.size:
            scratch = np.empty((2, self._past.table.longest + 1), np.int64)
            certifying.rescan_left(
                self.levels, self._past.arrays(), self.arrays, rows, self._past.declared.reshape(-1), scratch
            )

    # --- bytes -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        saved = self.saved and self.saved._asdict()
        return {"interval": self.interval, "arrays": self.arrays._asdict(), "saved": saved, "sums": self.sums}

    def restore(self, state: dict[str, Any]) -> None:
        """Take everything over from `state()`."""
        self.interval, self.sums, self.not_resting = state["interval"], state["sums"], 0
        self.arrays = CertificateArrays(**state["arrays"])
        self.saved = state["saved"] and SavedArrays(**state["saved"])
