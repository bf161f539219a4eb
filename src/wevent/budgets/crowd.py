"""A crowd of purely dynamic rows, one person each: the ledger's arithmetic for millions of them, with numba.

Same numbers as the path in numpy (`history`, `declarations`, `schedules`), in some 450 bytes per row
at a span of 120 slots and one publication in ten: levels and part 1 are kept as one-byte codes, part 2
for the slots that published only. Whoever asks for something fixed leaves the crowd with their past.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wevent.budgets import kernels
from wevent.budgets.declarations import LevelTable
from wevent.errors import BudgetExceeded
from wevent.settings import Rest
from wevent.units import UNBOUNDED, Units, show, to_epsilon

_MARKS: dict[str, tuple[Any, int]] = {
    "left": (np.int64, UNBOUNDED),
    "left_until": (np.int64, 2**62),
    "share_until": (np.int64, 2**62),
    "room": (np.int64, UNBOUNDED),
    "sum_1": (np.int64, 0),
    "sum_2": (np.int64, 0),
    "saved": (np.int64, 0),
    "saved_until": (np.int64, 0),
    "awake": (np.bool_, 1),
    "born": (np.int64, 0),
}
_CODED = ("share_code", "saved_code", "now")


class Crowd:
    """Dynamic rows with their last declarations, spends and certificates.

    Guarantees:
        Offers, rooms, borders and refusals equal those of the path in numpy, to the last unit.
    """

    def __init__(self, table: LevelTable, span: int, slot: int) -> None:
        self.table, self.span, self.slot = table, span, slot
        self.rows = 0
        self.sizes = np.zeros(0, np.int64)
        self._code: Any = np.uint8
        self._marks = {name: np.full(0, fill, kind) for name, (kind, fill) in _MARKS.items()}
        self._marks |= {name: np.zeros(0, self._code) for name in _CODED}
        self._past = np.zeros((0, span, kernels.BLOCK), self._code)
        self._codes = np.zeros((0, span, kernels.BLOCK), self._code)
        self._escapes = Escapes(span)
        self._published = np.zeros(8, np.int64)
        self._spent_2 = np.zeros((0, 8), np.int64)
        self._newest, self._publications = 7, 0
        self._known = -(2**62)
        self._free: list[int] = []
        self._stale: bool | None = None  # a closed slot not yet taken into the certificates: was it published?
        self._cursor = 0
        self._offered: tuple[Units, Units, int] | None = None
        self._charged: Units | None = None

    # --- rows ----------------------------------------------------------------------------------

    @property
    def born(self) -> npt.NDArray[np.int64]:
        """The slot in which each row was opened (axes: row)."""
        return self._marks["born"]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = [*self._marks.values(), self._past, self._codes, self._spent_2, self.sizes]
        return sum(array.nbytes for array in arrays) + self._escapes.nbytes

    def open_rows(self, levels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """New rows of one person each, without a past."""
        self._sync()
        if not self.rows:
            self._grow(levels.size)
            rows = np.arange(levels.size)
        else:
            if levels.size > len(self._free):
                first = self.rows
                self._grow(max(first, levels.size))
                self._free.extend(range(self.rows - 1, first - 1, -1))
            rows = np.array([self._free.pop() for _ in range(levels.size)], np.int64)
        self._clear(rows)
        self.resize(rows, 1)
        self.declare(rows, levels)
        return rows

    def free_row(self, row: int) -> None:
        """Forget a row."""
        self._sync()
        self._clear(np.array([row]))
        self.resize(row, 0)
        self._free.append(row)

    def resize(self, rows: npt.NDArray[np.int64] | int, size: int) -> None:
        """Set whether rows have their person (1) or not (0)."""
        self.sizes[rows] = size
        self._offered, self._cursor = None, 0

    def declare(self, rows: npt.NDArray[np.int64] | int, levels: npt.NDArray[np.int64] | int) -> None:
        """Let rows declare levels from the next slot on; 0 for none."""
        self._fit_codes()
        self._marks["now"][rows] = levels
        self._offered, self._cursor = None, 0

    def extend(self, span: int) -> None:
        """Remember `span` slots back from now on."""
        self._sync()
        slots = np.arange(max(1, self.slot - self.span + 1), self.slot)
        for name in ("_past", "_codes"):
            old = getattr(self, name)
            wider = np.zeros((old.shape[0], span, kernels.BLOCK), self._code)
            wider[:, slots % span] = old[:, slots % self.span]
            setattr(self, name, wider)
        self._escapes.extend(span, slots)
        oldest = self.slot - self.span + 1
        if oldest > 1:
            self._known = oldest
        self.span = span
        self._offered = None

    # --- the life of a slot --------------------------------------------------------------------

    def offer(self, kind: Literal["distribution", "absorption"] | None, rest: Rest) -> tuple[Units, Units, bool]:
        """Part 1, part 2, both cut to the room, and whether somebody rests and makes everybody rest."""
        self._sync()
        self._fit_codes()
        part_1, part_2 = np.empty(self.rows, np.int64), np.empty(self.rows, np.int64)
        levels, past, marks = self._views()
        now, nullified = self._marks["now"], False
        if kind == "absorption":
            if rest == "all":
                self._cursor = kernels.find_resting(levels, past, marks, now, self.sizes, self.slot, self._cursor)
                nullified = self._cursor < self.rows
            escapes = kernels.offer_absorption(
                levels, past, marks, now, self.sizes, self.slot, nullified, rest == "own", part_1, part_2
            )
        else:
            escapes = kernels.offer_distribution(levels, past, marks, now, self.sizes, self.slot, part_1, part_2)
        part_1.flags.writeable = part_2.flags.writeable = False
        self._offered = (part_1, part_2, escapes)
        return part_1, part_2, nullified

    def charge(self, part_1: Units, part_2: Units, first_row: int) -> None:
        """Spend both parts in the next slot; refused for all if any row has less room."""
        offered = self._offered
        if offered is None or part_1 is not offered[0]:
            self._sync()
        levels, past, marks = self._views()
        if offered is None or part_1 is not offered[0] or part_2 is not offered[1]:
            row = kernels.fits(levels, past, marks, self._marks["now"], self.sizes, self.slot, part_1, part_2)
            if row < self.rows:
                room = int(self.room()[row])
                raise BudgetExceeded(
                    f"row {first_row + row} asked for epsilon={show(int(part_1[row] + part_2[row]))} in slot "
                    f"{self.slot}; its windows have {show(room)} left. Nothing was spent.",
                    row=first_row + row,
                    slot=self.slot,
                    room=to_epsilon(room),
                )
        if offered is None or part_1 is not offered[0]:
            self._write(part_1)
        elif offered[2]:
            rows = np.flatnonzero(self._column(self._codes, self.slot) == np.iinfo(self._code).max)
            self._escapes.put(self.slot, rows, part_1[rows])
        else:
            self._escapes.put(self.slot, np.empty(0, np.int64), np.empty(0, np.int64))
        self._charged = part_2

    def settle(self, published: bool) -> None:
        """Close the slot; part 2 was spent if `published`."""
        assert self._charged is not None
        spent, self._charged = self._charged, None
        spent_any = published and bool(spent.any())
        if spent_any:
            self._publish(spent)
        self._stale, self._offered = spent_any, None
        self.slot += 1
        if spent_any:
            self._cursor = 0

    # --- looking ---------------------------------------------------------------------------------

    def room(self) -> Units:
        """The most each row may spend in the next slot, in all (axes: row)."""
        self._sync()
        result = np.empty(self.rows, np.int64)
        kernels.rooms(*self._views(), self._marks["now"], self.sizes, self.slot, result)
        return result

    def borders(self) -> npt.NDArray[np.float64]:
        """Largest border b(τ) of each row over its active declarations, -inf without one (axes: row)."""
        self._sync()
        result = np.empty(self.rows)
        levels, past, _ = self._views()
        kernels.borders(levels, past, self._marks["now"], self.sizes, self.slot, result)
        return result

    def spends(self, row: int) -> tuple[Units, Units]:
        """Part 1 and part 2 of a row in the last span - 1 slots, oldest first."""
        part_1, part_2 = np.zeros(self.span - 1, np.int64), np.zeros(self.span - 1, np.int64)
        levels, past, _ = self._views()
        kernels.part_1_of(levels, past, row, self.slot, part_1)
        for place in range(self._published.size):
            back = self._published[place] - self.slot
            if -part_2.size <= back < 0 and self._published[place] > 0:
                part_2[back] = self._spent_2[row, place]
        return part_1, part_2

    def spent_2_at(self, row: int, slot: int) -> int:
        """What a row spent in part 2 in `slot`, if that was the last publication; otherwise 0."""
        newest = self._newest
        return int(self._spent_2[row, newest]) if self._publications and self._published[newest] == slot else 0

    @property
    def known(self) -> int:
        """Rows born before this slot remember nothing older than it."""
        return self._known

    def spent(self, row: int, window: int) -> int:
        """Everything a row spent in the last window - 1 slots."""
        part_1, part_2 = self.spends(row)
        return int((part_1 + part_2)[part_1.size - window + 1 :].sum())

    def levels(self, row: int) -> npt.NDArray[np.int64]:
        """What a row declared in the last span - 1 slots, oldest first."""
        slots = np.arange(self.slot - self.span + 1, self.slot)
        declared = self._past[row >> 3, slots % self.span, row & 7].astype(np.int64)
        return np.where(slots >= 1, declared, 0)

    # --- bytes -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        if self._charged is None:
            self._sync()
        plain = ("span", "slot", "rows", "_newest", "_publications", "_known")
        arrays = ("sizes", "_past", "_codes", "_published", "_spent_2")
        return {
            **{name: getattr(self, name) for name in (*plain, *arrays)},
            "marks": self._marks,
            "escapes": self._escapes.state(),
            "free": np.array(self._free, np.int64),
            "stale": self._stale,
            "charged": self._charged,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], table: LevelTable) -> Crowd:
        """The same crowd again."""
        crowd = cls(table, state["span"], state["slot"])
        for name in ("rows", "_newest", "_publications", "_known", "sizes", "_past", "_codes", "_published", "_spent_2"):
            setattr(crowd, name, state[name])
        crowd._marks, crowd._free = state["marks"], state["free"].tolist()
        crowd._code = crowd._past.dtype.type
        crowd._escapes = Escapes.from_state(state["escapes"])
        crowd._stale, crowd._charged = state["stale"], state["charged"]
        return crowd

    # --- inside ----------------------------------------------------------------------------------

    def _views(self) -> tuple[kernels.Levels, kernels.Past, kernels.Marks]:
        table, marks, escapes = self.table, self._marks, self._escapes
        levels = kernels.Levels(
            table.backward,
            table.backward_window,
            table.half,
            table.forward,
            table.forward_window,
            table.share,
            table.longest,
        )
        past = kernels.Past(
            self._past,
            self._codes,
            self.span,
            int(np.iinfo(self._code).max),
            escapes.rows,
            escapes.values,
            escapes.start,
            escapes.count,
            self._published,
            self._spent_2,
            self._newest,
            self._publications,
        )
        names = [name for name in kernels.Marks._fields if name != "known"]
        return levels, past, kernels.Marks(*(marks[name] for name in names), self._known)

    def _sync(self) -> None:
        """Take a closed slot into the certificates."""
        if self._stale is None:
            return
        levels, past, marks = self._views()
        leaving = np.flatnonzero((self._published == self.slot - self.span) & (self._published > 0))
        place = int(leaving[0]) if leaving.size else -1
        kernels.advance(levels, past, marks, self.rows, self.slot, self._stale, place)
        self._stale = None

    def _publish(self, spent: Units) -> None:
        """Remember a publication, in the place of one that is out of reach."""
        place = (self._newest + 1) % self._published.size
        if self._publications == self._published.size:
            if self._published[place] > self.slot - self.span:
                order = (self._newest + 1 + np.arange(self._published.size)) % self._published.size
                more = np.zeros_like(self._published)
                self._published = np.concatenate([self._published[order], more])
                self._spent_2 = np.concatenate([self._spent_2[:, order], np.zeros_like(self._spent_2)], axis=1)
                self._newest = order.size - 1
                place = order.size
                self._publications += 1
        else:
            self._publications += 1
        self._published[place] = self.slot
        self._spent_2[: self.rows, place] = spent
        self._newest = place

    def _write(self, part_1: Units) -> None:
        """Write a charge that is not the offer: codes where a share was spent, the rest to look up."""
        now = np.where(self.sizes > 0, self._marks["now"], 0)
        share = self.table.share[now]
        escape = np.iinfo(self._code).max
        code = np.where(part_1 == share, now, np.where(part_1 == 0, 0, escape)).astype(self._code)
        place = self.slot % self.span
        rows = np.arange(self.rows)
        self._past[rows >> 3, place, rows & 7] = now
        self._codes[rows >> 3, place, rows & 7] = code
        odd = np.flatnonzero(code == escape)
        self._escapes.put(self.slot, odd, part_1[odd])

    def _column(self, ring: npt.NDArray[Any], slot: int) -> npt.NDArray[Any]:
        return ring[:, slot % self.span, :].reshape(-1)[: self.rows]

    def _clear(self, rows: npt.NDArray[np.int64]) -> None:
        for name, (_, fill) in _MARKS.items():
            self._marks[name][rows] = fill
        for name in _CODED:
            self._marks[name][rows] = 0
        self._marks["born"][rows] = self.slot
        self._past[rows >> 3, :, rows & 7] = 0
        self._codes[rows >> 3, :, rows & 7] = 0
        self._spent_2[rows] = 0

    def _grow(self, more: int) -> None:
        self.sizes = np.concatenate([self.sizes, np.zeros(more, np.int64)])
        for name, (kind, fill) in _MARKS.items():
            self._marks[name] = np.concatenate([self._marks[name], np.full(more, fill, kind)])
        for name in _CODED:
            self._marks[name] = np.concatenate([self._marks[name], np.zeros(more, self._code)])
        self._spent_2 = np.concatenate([self._spent_2, np.zeros((more, self._published.size), np.int64)])
        self.rows = self.sizes.size
        blocks = -(-self.rows // kernels.BLOCK) - self._past.shape[0]
        empty = np.zeros((blocks, self.span, kernels.BLOCK), self._code)
        self._past, self._codes = np.concatenate([self._past, empty]), np.concatenate([self._codes, empty])

    def _fit_codes(self) -> None:
        """Use wider codes when there are more levels than fit."""
        old = np.iinfo(self._code).max
        if len(self.table) < old:
            return
        self._code = np.uint16 if len(self.table) < 65_535 else np.int32
        new = np.iinfo(self._code).max
        self._past = self._past.astype(self._code)
        codes = self._codes.astype(self._code)
        codes[self._codes == old] = new
        self._codes = codes
        for name in _CODED:
            self._marks[name] = self._marks[name].astype(self._code)


class Escapes:
    """Part-1 spends that are no level's share, slot by slot: rows ascending, values beside them."""

    def __init__(self, span: int) -> None:
        self.rows = np.zeros(16, np.int32)
        self.values = np.zeros(16, np.int64)
        self.start = np.zeros(span, np.int64)
        self.count = np.zeros(span, np.int64)
        self._end = 0

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
        start, count = np.zeros(span, np.int64), np.zeros(span, np.int64)
        start[slots % span], count[slots % span] = self.start[slots % self.start.size], self.count[slots % self.start.size]
        self.start, self.count = start, count

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
        return {"rows": self.rows, "values": self.values, "start": self.start, "count": self.count, "end": self._end}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Escapes:
        """The same again."""
        escapes = cls(state["start"].size)
        escapes.rows, escapes.values, escapes.start = state["rows"], state["values"], state["start"]
        escapes.count, escapes._end = state["count"], state["end"]
        return escapes
