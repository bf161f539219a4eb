"""Holds what every row spent in the last slots, and sums it over windows.

The sums are kept as running totals in a ring over the last `span` slots, so that a window of any
length costs one subtraction. Totals are int64 and may wrap around after some 10⁸ slots of the
largest budget; their differences, which is all that is ever read, stay exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.units import Units

LONG_AGO = -(2**62)


class History:
    """Change and publish budgets that were spent, axes (change or publish, slot modulo span, row).

    Guarantees:
        `spent(w)` is exactly the sum of what was charged and not refunded in the last w - 1 slots.
        Memory depends on rows and span, never on how many slots have passed.

    Attributes:
        slot: the slot that is charged next; slots count from 1.
        span: how many slots back are remembered.
        forgotten: the last slot in which a person was registered who has been forgotten. A newcomer may be that
            person, so a window that reaches back to it is unknown. Windows that fitted into the span back then never
            do.
        held: the first slot in which anybody may have room. After a restore the promises made in the lost copy
            are unknown, so everybody waits as long as those may have bound.
    """

    def __init__(self, span: int = 1) -> None:
        self.slot = 1
        self.span = span
        self.rows = 0
        self.forgotten = self.held = LONG_AGO
        self._totals = np.zeros((2, span, 0), np.int64)  # what `ring` shows, with columns to spare
        self._born = np.zeros(0, np.int64)  # the first slot in which any member of a row could spend
        self._known = np.zeros(0, np.int64)  # the first remembered slot; LONG_AGO if nothing since birth is forgotten
        self._gapless = True  # whether `_known` is LONG_AGO in all rows

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._totals.nbytes + self._born.nbytes + self._known.nbytes

    @property
    def ring(self) -> npt.NDArray[np.int64]:
        """Running totals at the end of the last `span` slots (axes: change or publish, slot modulo span, row)."""
        return self._totals

    @property
    def whole(self) -> bool:
        """Whether nothing that any row spent was ever forgotten inside a window."""
        return self._gapless and self.forgotten == LONG_AGO

    @property
    def known_since(self) -> npt.NDArray[np.int64]:
        """For each row, the first slot whose spend is remembered; long ago if nothing was forgotten."""
        return np.maximum(self._known[: self.rows], self.forgotten + 1)

    def spent(self, window: npt.NDArray[np.int64] | int, rows: Any = slice(None)) -> tuple[Units, Units]:
        """Change and publish budgets in slots t-w+1 … t-1, with w = `window` of each of `rows`."""
        now = (self.slot - 1) % self.span
        then = (self.slot - window) % self.span
        totals = self._totals[:, :, : self.rows]
        if isinstance(rows, slice):
            rows = np.arange(self.rows)[rows]
        difference = totals[:, now, rows] - totals[:, then, rows]
        return difference[0], difference[1]

    def since(self, slots: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> tuple[Units, Units]:
        """Change and publish budgets from each of `slots` on, up to now (axes: slot, row)."""
        totals = self._totals if rows.size == self._totals.shape[2] else self._totals[:, :, rows]
        spent = totals[:, [(self.slot - 1) % self.span]] - totals[:, (slots - 1) % self.span]
        return spent[0], spent[1]

    def charge(self, change_budget: Units, publish_budget: Units) -> None:
        """Write the slot's spends; the slot stays open until `close`."""
        current, before = self.slot % self.span, (self.slot - 1) % self.span
        totals = self._totals[:, :, : self.rows]
        np.add(totals[0, before], change_budget, out=totals[0, current])
        np.add(totals[1, before], publish_budget, out=totals[1, current])

    def refund(self, publish_budget: Units) -> None:
        """Take back the publish budget of the open slot."""
        self._totals[1, self.slot % self.span, : self.rows] -= publish_budget

    def close(self) -> None:
        """End the open slot."""
        self.slot += 1

    def open_rows(self, many: int) -> npt.NDArray[np.int64]:
        """New rows that never spent anything."""
        first = self.rows
        self._reserve(first + many)
        self.rows = first + many
        fresh = np.arange(first, self.rows)
        self.clear(fresh)
        return fresh

    def clear(self, rows: npt.NDArray[np.int64] | int) -> None:
        """Make rows as if they were new."""
        self._totals[:, :, rows] = 0
        self._born[rows] = self.slot
        self._known[rows] = LONG_AGO

    def copy_row(self, source: int, target: int, until: int) -> None:
        """Give `target` what `source` spent up to slot `until`, and nothing after it."""
        self._totals[:, :, target] = self._totals[:, :, source]
        oldest = self.slot - self.span
        for slot in range(max(until, oldest) + 1, self.slot):
            self._totals[:, slot % self.span, target] = self._totals[:, max(until, oldest) % self.span, source]
        self._born[target] = self._born[source]
        self._known[target] = self._known[source]
        self._gapless &= bool(self._known[source] == LONG_AGO)

    def write_row(self, row: int, change_budget: Units, publish_budget: Units, born: int, known: int) -> None:
        """Set what a row spent in the last slots, oldest first, as if it had always been this one.

        A row born before slot `known` remembers nothing older than that.
        """
        self.clear(row)
        self._born[row] = born
        self._known[row] = known if born < known else LONG_AGO
        self._gapless &= born >= known
        kept = min(change_budget.size, self.span - 1)
        for part, spends in enumerate((change_budget, publish_budget)):
            running = np.concatenate([[0], np.cumsum(spends[spends.size - kept :])])
            slots = np.arange(self.slot - 1 - kept, self.slot)
            self._totals[part, slots % self.span, row] = running

    def spends(self, row: int) -> tuple[Units, Units]:
        """Change and publish budgets of the last span - 1 slots, oldest first."""
        order = np.arange(self.slot - self.span, self.slot) % self.span
        kept = np.diff(self._totals[:, order, row], axis=1)
        return kept[0], kept[1]

    def birth(self, row: int) -> tuple[int, int]:
        """The first slot in which any member of a row could spend, and the first one that it is known to remember."""
        return int(self._born[row]), int(self._known[row])

    def dominates(self, row: int, other: int, until: int) -> bool:
        """Whether `row` recorded at least as much as `other` in every remembered slot up to `until`, in total.

        Slots that only `other` has forgotten must be out of every window. Births are not compared: a row that stands
        for the members of `other` takes over the older birth (`adopt`).
        """
        oldest = self.slot - self.span + 1
        enough = sum(self.spends(row)) >= sum(self.spends(other))
        later = np.arange(oldest, self.slot) > until
        return bool(np.all(enough | later)) and bool(self._known[other] <= max(self._known[row], oldest))

    def adopt(self, row: int, other: int) -> None:
        """Let `row`, which dominates `other`, stand for those in it: it begins no later and forgets no less."""
        self._born[row] = min(self._born[row], self._born[other])
        self._known[row] = max(self._known[row], self._known[other])
        self._gapless &= bool(self._known[row] == LONG_AGO)

    def cover(self, row: int, other: int) -> None:
        """Raise what `row` recorded to at least what `other` recorded, slot by slot."""
        parts = zip(self.spends(row), self.spends(other), strict=True)
        slots = np.arange(self.slot - self.span, self.slot) % self.span
        for part, (own, others) in enumerate(parts):
            self._totals[part, slots, row] = np.concatenate([[0], np.cumsum(np.maximum(own, others))])
        self.adopt(row, other)

    def extend(self, span: int) -> None:
        """Remember `span` slots back from now on; what was forgotten already stays forgotten."""
        if span <= self.span:
            return
        slots = np.arange(self.slot - self.span, self.slot)
        wider = np.repeat(self._totals[:, [slots[0] % self.span], :], span, axis=1)
        wider[:, slots % span, :] = self._totals[:, slots % self.span, :]
        oldest = self.slot - self.span + 1
        lost = self._born[: self.rows] < oldest
        self._known[: self.rows] = np.where(
            lost, np.maximum(self._known[: self.rows], oldest), self._known[: self.rows]
        )
        self._gapless &= not lost.any()
        self._totals, self.span = wider, span

    def take(self, rows: npt.NDArray[np.int64]) -> History:
        """A copy of these rows."""
        taken = History(self.span)
        taken.slot, taken.rows, taken._gapless = self.slot, rows.size, self._gapless
        taken.forgotten, taken.held = self.forgotten, self.held
        taken._totals, taken._born, taken._known = self._totals[:, :, rows], self._born[rows], self._known[rows]
        return taken

    def append(self, change_budget: Units, publish_budget: Units, born: npt.NDArray[np.int64], known: int) -> None:
        """More rows: what they spent in the last span - 1 slots, oldest first (axes: slot, row).

        A row born before slot `known` remembers nothing older than that.
        """
        totals = np.zeros((2, self.span, born.size), np.int64)
        slots = np.arange(self.slot - change_budget.shape[0], self.slot)
        totals[:, slots % self.span] = np.cumsum([change_budget, publish_budget], axis=1)
        self._totals = np.concatenate([self._totals, totals], axis=2)
        self._born = np.concatenate([self._born, born])
        self._known = np.concatenate([self._known, np.where(born < known, known, LONG_AGO)])
        self._gapless &= bool((born >= known).all())
        self.rows = self._born.size

    def _reserve(self, rows: int) -> None:
        room = self._born.size
        if rows > room:
            more = (rows if room == 0 else max(rows, room + room // 4 + 8)) - room
            self._totals = np.concatenate([self._totals, np.zeros((2, self.span, more), np.int64)], axis=2)
            self._born = np.concatenate([self._born, np.zeros(more, np.int64)])
            self._known = np.concatenate([self._known, np.full(more, LONG_AGO)])

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        return {
            "slot": self.slot,
            "span": self.span,
            "forgotten": self.forgotten,
            "held": self.held,
            "totals": self._totals[:, :, : self.rows],
            "born": self._born[: self.rows],
            "known": self._known[: self.rows],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> History:
        """The same history again."""
        history = cls(state["span"])
        history.slot, history.rows = state["slot"], state["born"].size
        history.forgotten, history.held = state["forgotten"], state["held"]
        history._totals, history._born, history._known = (state[k].copy() for k in ("totals", "born", "known"))
        history._gapless = bool((history._known == LONG_AGO).all())
        return history
