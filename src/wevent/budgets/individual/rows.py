"""A crowd of purely dynamic rows, one person each: the ledger's arithmetic for millions of them, with numba.

Same numbers as the path in numpy (`history`, `declarations`, `schedules`), in some 450 bytes per row
at a span of 120 slots and one publication in ten: levels and part 1 are kept as one-byte codes, part 2
for the slots that published only. Whoever asks for something fixed leaves the crowd with their past.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wevent.budgets.forecast import paced_parts
from wevent.budgets.individual import kernels
from wevent.budgets.individual.irregular import IrregularSpends
from wevent.budgets.levels import LevelTable
from wevent.errors import BudgetExceeded, NotCharged
from wevent.settings import Rest
from wevent.units import UNBOUNDED, Units, show, to_epsilon

_ROWS: dict[str, tuple[Any, int]] = {
    "sizes": (np.int64, 0),
    "born": (np.int64, 0),
    "flags": (np.uint8, kernels.AWAKE),
    "left": (np.int64, UNBOUNDED),
    "left_until": (np.int64, 2**62),
    "top": (np.int64, UNBOUNDED),
    "known": (np.uint8, 0),
    "share": (np.int64, UNBOUNDED),
    "share_until": (np.int64, 2**62),
}
"""What is kept of every row, and of a row without a past (see `kernels`)."""
_CODES = ("now", "last", "share_code")
_SAVED: dict[str, tuple[Any, int]] = {"saved": (np.int64, 0), "saved_until": (np.int64, 0)}
_HALVES = 0
_PLAIN = ("span", "slot", "rows", "forgotten", "held", "_newest", "_publications", "_known", "_interval")
_RINGS = ("_past", "_codes", "_published", "_spent_2", "_sums", "_after", "_after_until")


class IndividualRows:
    """Dynamic rows with their last declarations, spends and certificates.

    Guarantees:
        Offers, rooms, borders and refusals equal those of the path in numpy, to the last unit.

    Attributes:
        forgotten: as in `history`: windows that reach back to this slot are as good as unknown.
        held: as in `history`: the first slot in which anybody may have room.
    """

    def __init__(self, table: LevelTable, span: int, slot: int) -> None:
        self.table, self.span, self.slot = table, span, slot
        self.rows = 0
        self._code: Any = np.uint8
        self._row = {name: np.full(0, fill, kind) for name, (kind, fill) in _ROWS.items()}
        self._row |= {name: np.zeros(0, self._code) for name in _CODES}
        self._past = np.zeros((0, span, kernels.BLOCK), self._code)
        self._codes = np.zeros((0, span, kernels.BLOCK), self._code)
        self._escapes = IrregularSpends(span)
        self._published = np.zeros(8, np.int64)
        self._spent_2 = np.zeros((0, 8), np.int64)
        self._sums = np.zeros((0, 2), np.int64)
        self._after = np.zeros((0, kernels.AFTER), np.int64)
        self._after_until = np.zeros((0, kernels.AFTER), np.int64)
        self._newest, self._publications = 7, 0
        self._interval = _HALVES  # what the certificates are of: parts at this interval, or halves and shares
        self._known = self.forgotten = self.held = -(2**62)
        self._free: list[int] = []
        self._closed: tuple[bool, Units | None] | None = None  # a slot not yet in the certificates: what it published
        self._cursor = 0
        self._offered: tuple[Units, Units, npt.NDArray[Any], int] | None = None
        self._charged: Units | None = None

    # --- rows ----------------------------------------------------------------------------------

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """1 for a row with its person, 0 for one without (axes: row)."""
        return self._row["sizes"]

    @property
    def born(self) -> npt.NDArray[np.int64]:
        """The slot in which each row was opened (axes: row)."""
        return self._row["born"]

    @property
    def known(self) -> int:
        """Rows born before this slot remember nothing older than it."""
        return self._known

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        rings = sum(getattr(self, name).nbytes for name in _RINGS)
        return int(rings + sum(array.nbytes for array in self._row.values()) + self._escapes.nbytes)

    @property
    def code_bytes(self) -> int:
        """Bytes of one code."""
        return int(np.dtype(self._code).itemsize)

    @property
    def places(self) -> int:
        """Publications that can be kept without growing."""
        return int(self._published.size)

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
        """Set whether rows have their person (1) or not (0); without, they declare nothing."""
        self.sizes[rows] = size
        if size == 0:
            self._row["now"][rows] = 0
        self._offered, self._cursor = None, 0

    def declare(self, rows: npt.NDArray[np.int64] | slice | int, levels: npt.NDArray[Any] | int) -> None:
        """Let rows declare levels from the next slot on; 0 for none."""
        self._fit_codes()
        self._row["now"][rows] = levels
        self._offered, self._cursor = None, 0

    def declare_all(self, levels: npt.NDArray[np.int64], choice: npt.NDArray[np.integer[Any]]) -> None:
        """Let row k declare `levels[choice[k]]` from the next slot on; -1 for no change."""
        self._fit_codes()
        kernels.assign(self._row["now"], levels.astype(self._code), choice)
        self._offered, self._cursor = None, 0

    def hold(self, forgotten: int, held: int) -> None:
        """Windows that reach back to `forgotten` are unknown from now on, and nobody has room before `held`."""
        self.forgotten, self.held = forgotten, held
        self._offered = None

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
            self._known = max(self._known, oldest)
        self.span = span
        self._offered = None

    # --- the life of a slot --------------------------------------------------------------------

    def offer(self, kind: Literal["distribution", "absorption"] | None, rest: Rest) -> tuple[Units, Units, bool]:
        """Part 1, part 2, both cut to the room, and whether somebody rests and makes everybody rest."""
        self._fit_codes()
        self._certify(_HALVES)
        self._keep(sums=bool(self.table.backward_window.max() > 1), saved=kind == "absorption")
        self._sync()
        change_budget, publish_budget = np.empty(self.rows, np.int64), np.empty(self.rows, np.int64)
        codes, special = np.empty(self.rows, self._code), np.empty(self.rows, np.bool_)
        levels, facts = self._tables()
        row, now = self._row, self._row["now"]
        drop = 0 if kind == "absorption" else 1
        kernels.propose(
            levels,
            now,
            row["left"],
            row["share"],
            row["share_code"],
            row["flags"],
            drop,
            change_budget,
            publish_budget,
            codes,
            special,
        )
        nullified = False
        if kind == "absorption":
            nullified = self._absorb(rest, publish_budget)
        irregular = 0
        if special.any():
            irregular = kernels.cut_to_room(
                levels, facts, self._past, self._codes, *self._escapes.arrays, self._published, self._spent_2,
                self._sums, row["flags"], self.born, now, row["left"], self.slot, change_budget, publish_budget, codes, special,
            )  # fmt: skip
        self._hold_back(change_budget, publish_budget, codes)
        change_budget.flags.writeable = publish_budget.flags.writeable = False
        self._offered = (change_budget, publish_budget, codes, irregular)
        return change_budget, publish_budget, nullified

    def offer_part(self, interval: int) -> tuple[Units, Units]:
        """For paced schedules: no part 1, and the least E / ceil(w/k) cut to the room; nothing for an interval of 0."""
        self._fit_codes()
        change_budget, publish_budget = np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)
        if interval:
            self._certify(interval)
            self._sync()
            row, now, special = self._row, self._row["now"], np.empty(self.rows, np.bool_)
            caps = paced_parts(self.table.backward, self.table.backward_window, interval)
            kernels.propose_part(
                self._certified_levels(), caps, now, row["left"], row["share"], row["flags"], publish_budget, special
            )
            if special.any():
                kernels.cut_part(
                    *self._tables(), self._past, self._codes, *self._escapes.arrays, self._published, self._spent_2,
                    row["flags"], self.born, now, self.slot, publish_budget, special,
                )  # fmt: skip
        codes = np.zeros(self.rows, self._code)
        self._hold_back(change_budget, publish_budget, codes)
        change_budget.flags.writeable = publish_budget.flags.writeable = False
        self._offered = (change_budget, publish_budget, codes, 0)
        return change_budget, publish_budget

    def charge(self, change_budget: Units, publish_budget: Units, first_row: int) -> None:
        """Spend both parts in the next slot; refused for all if any row has less room."""
        self._sync()
        offered = self._offered
        if (
            offered is not None
            and np.array_equal(change_budget, offered[0])
            and np.array_equal(publish_budget, offered[1])
        ):
            change_budget, publish_budget = offered[:2]
        else:
            self._check(change_budget, publish_budget, first_row)
        self.write(change_budget, publish_budget)

    def write(self, change_budget: Units, publish_budget: Units) -> None:
        """Spend both parts in the next slot, whatever room there is."""
        self._sync()
        offered = self._offered
        if offered is None or change_budget is not offered[0]:
            codes, irregular = self._encode(change_budget)
        else:
            codes, irregular = offered[2], offered[3]
        odd = np.flatnonzero(codes == np.iinfo(self._code).max) if irregular else np.empty(0, np.int64)
        self._escapes.put(self.slot, odd, change_budget[odd])
        kernels.write_ring(self._past, self.slot % self.span, self._row["now"])
        kernels.write_ring(self._codes, self.slot % self.span, codes)
        self._charged = publish_budget

    def settle(self, published: bool) -> None:
        """Close the slot; part 2 was spent if `published`."""
        if self._charged is None:
            raise NotCharged(f"slot {self.slot} was not charged; charge it before settling it", slot=self.slot)
        spent, self._charged = self._charged, None
        fresh = published and bool(spent.any())
        if fresh:
            self._publish(spent)
            self._cursor = 0
        np.copyto(self._row["last"], self._row["now"])
        self._closed, self._offered = (fresh, spent if fresh else None), None
        self.slot += 1

    # --- looking ---------------------------------------------------------------------------------

    def room(self) -> Units:
        """The most each row may spend in the next slot, in all (axes: row)."""
        self._sync()
        if self.slot < self.held:
            return np.zeros(self.rows, np.int64)
        result = np.empty(self.rows, np.int64)
        kernels.rooms(
            *self._tables(), self._past, self._codes, *self._escapes.arrays, self._published, self._spent_2,
            self.born, self._row["now"], self.slot, result,
        )  # fmt: skip
        return result

    def borders(self) -> npt.NDArray[np.float64]:
        """Largest border b(τ) of each row over its active declarations, -inf without one (axes: row)."""
        result = np.empty(self.rows)
        past = (self._past, self._published, self._spent_2)
        kernels.borders(*self._tables(), *past, self._row["now"], self.slot, result)
        return result

    def spends(self, row: int) -> tuple[Units, Units]:
        """Part 1 and part 2 of a row in the last span - 1 slots, oldest first."""
        change_budget, publish_budget = np.zeros(self.span - 1, np.int64), np.zeros(self.span - 1, np.int64)
        kernels.part_1_of(*self._tables(), self._codes, *self._escapes.arrays, row, self.slot, change_budget)
        for place in range(self._published.size):
            back = self._published[place] - self.slot
            if -publish_budget.size <= back < 0 and self._published[place] > 0:
                publish_budget[back] = self._spent_2[row, place]
        return change_budget, publish_budget

    def declared(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What rows declare for the next slot (axes: row)."""
        return self._row["now"][rows].astype(np.int64)

    def past(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Units, Units]:
        """Levels, part 1 and part 2 of rows in the last span - 1 slots, oldest first (axes: slot, row)."""
        slots = np.arange(self.slot - self.span + 1, self.slot)
        cells = (rows[None, :] >> 3, (slots % self.span)[:, None], rows[None, :] & 7)
        there = (slots >= 1)[:, None]
        levels, codes = np.where(there, self._past[cells], 0).astype(np.int64), np.where(there, self._codes[cells], 0)
        odd = codes == np.iinfo(self._code).max
        change_budget, publish_budget = self.table.share[np.where(odd, 0, codes)], np.zeros(levels.shape, np.int64)
        for column in np.flatnonzero(odd.any(axis=0)).tolist():
            change_budget[:, column] = self.spends(int(rows[column]))[0]
        for place in np.flatnonzero(self._published > max(self.slot - self.span, 0)).tolist():
            publish_budget[self._published[place] - self.slot] = self._spent_2[rows, place]
        return levels, change_budget, publish_budget

    def spent_2_at(self, row: int, slot: int) -> int:
        """What a row spent in part 2 in `slot`, if that was the last publication; otherwise 0."""
        newest = self._newest
        return int(self._spent_2[row, newest]) if self._publications and self._published[newest] == slot else 0

    def levels(self, row: int) -> npt.NDArray[np.int64]:
        """What a row declared in the last span - 1 slots, oldest first."""
        slots = np.arange(self.slot - self.span + 1, self.slot)
        declared = self._past[row >> 3, slots % self.span, row & 7].astype(np.int64)
        return np.where(slots >= 1, declared, 0)

    # --- bytes -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        self._sync()
        return {
            **{name: getattr(self, name) for name in (*_PLAIN, *_RINGS)},
            "row": self._row,
            "irregular": self._escapes.state(),
            "free": np.array(self._free, np.int64),
            "charged": self._charged,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], table: LevelTable) -> IndividualRows:
        """The same crowd again."""
        individual = cls(table, state["span"], state["slot"])
        for name in (*_PLAIN, *_RINGS):
            setattr(individual, name, state.get(name, _HALVES))  # what has no interval was kept before there were any
        individual._row, individual._free, individual._charged = state["row"], state["free"].tolist(), state["charged"]
        individual._code = individual._past.dtype.type
        individual._escapes = IrregularSpends.from_state(state["irregular"])
        return individual

    # --- inside ----------------------------------------------------------------------------------

    def _tables(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Levels and facts for the kernels."""
        table = self.table
        levels = np.stack(
            [
                table.backward,
                table.backward_window,
                table.half,
                table.forward,
                table.forward_window,
                table.share,
            ]
        )
        escape = np.iinfo(self._code).max
        facts = [self.span, escape, self._newest, self._publications, self._known, self.forgotten, table.longest]
        return levels, np.array(facts, np.int64)

    def _certified_levels(self) -> npt.NDArray[np.int64]:
        """Levels for the certificates: in place of EF/2 and the share, what is paced knows EF and EF / ceil(wF/k)."""
        levels, table = self._tables()[0], self.table
        if self._interval > _HALVES:
            levels[kernels.HALF] = table.forward
            levels[kernels.SHARE] = paced_parts(table.forward, table.forward_window, self._interval)
        return levels

    def _certify(self, interval: int) -> None:
        """Keep certificates of parts at this interval, or of halves and shares, from now on."""
        if interval == self._interval:
            return
        self._sync()
        row, news = self._row, np.ones(self.rows, np.bool_)
        row["share_until"][:] = 0
        if _HALVES in (self._interval, interval):
            row["left_until"][:] = 0
            row["known"][:] = 0
            if self._codes.any() or (interval == _HALVES and self._publications):
                row["flags"] |= kernels.IRREGULAR  # a half may be overspent, or something spent in part 1
        self._interval = interval
        self._renew(np.zeros_like(row["last"]), None, news)

    def _renew(self, last: npt.NDArray[Any], publish_budget: Units | None, news: npt.NDArray[np.bool_]) -> None:
        """Take what was declared and published last into the certificates of marked rows; scan what expired."""
        levels, facts = self._certified_levels(), self._tables()[1]
        row, t = self._row, self.slot
        left = (row["left"], row["left_until"], self._after, self._after_until, row["known"], row["top"])
        share = (row["share"], row["share_code"], row["share_until"])
        kernels.take_news(levels, facts, self._past, last, *left, *share, t, news)
        if publish_budget is not None:
            kernels.take_publication(row["left"], self._after, row["known"], row["top"], publish_budget, row["flags"])
        expired = np.flatnonzero(news)
        if expired.size:
            past = (self._past.reshape(-1), self._published, self._spent_2)
            scratch = np.empty((2, self.table.longest + 1), np.int64)
            kernels.renew(levels, facts, *past, *left, t, expired, *scratch)

    def _sync(self) -> None:
        """Take a closed slot into the certificates."""
        if self._closed is None:
            return
        (fresh, spent), self._closed = self._closed, None
        publish_budget = np.zeros(1, np.int64) if spent is None else spent
        levels, facts = self._tables()
        row, t = self._row, self.slot
        news = np.empty(self.rows, np.bool_)
        kept = (row["left"], row["left_until"], row["top"], row["share"], row["share_until"])
        kernels.find_news(self._certified_levels(), row["last"], *kept, t, news)
        self._renew(row["last"], spent, news)
        if "saved" in row:
            saved = (row["saved"], row["saved_code"], row["saved_until"])
            kernels.take_saved(levels, row["last"], *saved, t, fresh, publish_budget)
        if self._sums.size:
            left_span = t - self.span >= max(
                self._known, 1
            )  # what an earlier, shorter span lost has left the sums already
            found = np.flatnonzero(self._published == t - self.span) if left_span else np.empty(0, np.int64)
            leaving = int(found[0]) if found.size else -1
            kernels.take_sums(
                levels,
                facts,
                self._codes,
                *self._escapes.arrays,
                self._spent_2,
                self._sums,
                t,
                fresh,
                publish_budget,
                leaving,
            )

    def _hold_back(self, change_budget: Units, publish_budget: Units, codes: npt.NDArray[Any]) -> None:
        """Offer nothing where nobody has room yet, or where a declaration reaches back to forgotten slots."""
        if self.slot < self.held:
            change_budget[:], publish_budget[:], codes[:] = 0, 0, 0
        elif self.slot - self.table.longest < self.forgotten:
            kernels.hold_back(
                *self._tables(), self._past, self._row["now"], self.slot, change_budget, publish_budget, codes
            )

    def _absorb(self, rest: Rest, publish_budget: Units) -> bool:
        """Cut part 2 to what was saved; whether everybody rests."""
        levels, facts = self._tables()
        row, past = self._row, (self._past, self._published, self._spent_2)
        if rest == "all":
            self._cursor = kernels.find_resting(levels, facts, *past, row["now"], row["flags"], self.slot, self._cursor)
            if self._cursor < self.rows:
                publish_budget[:] = 0
                return True
        short = np.zeros(self.rows, np.bool_)
        saved = (row["saved"], row["saved_code"], row["saved_until"], row["flags"], self.slot, rest == "own")
        kernels.propose_saved(levels, row["now"], *saved, publish_budget, short)
        if short.any():
            kernels.cut_to_saved(levels, facts, *past, row["now"], *saved, publish_budget, short)
        return False

    def _keep(self, *, sums: bool, saved: bool) -> None:
        """Begin to keep what only some requirements and schedules need."""
        if sums and not self._sums.size:
            self._sync()
            self._sums = np.zeros((self.rows, 2), np.int64)
            past = (self._codes, *self._escapes.arrays, self._published, self._spent_2)
            kernels.sum_up(*self._tables(), *past, self._sums, self.slot)
        if saved and "saved" not in self._row:
            self._sync()
            self._row |= {name: np.full(self.rows, fill, kind) for name, (kind, fill) in _SAVED.items()}
            self._row["saved_code"] = np.zeros(self.rows, self._code)

    def _check(self, change_budget: Units, publish_budget: Units, first_row: int) -> None:
        """Refuse a charge that is negative or above the room."""
        room = self.room()
        over = (change_budget < 0) | (publish_budget < 0) | (change_budget + publish_budget > room)
        if over.any():
            row = int(np.argmax(over))
            raise BudgetExceeded(
                f"row {first_row + row} asked for epsilon={show(int(change_budget[row] + publish_budget[row]))} in slot "
                f"{self.slot}; its windows have {show(int(room[row]))} left. Nothing was spent.",
                row=first_row + row,
                slot=self.slot,
                room=to_epsilon(int(room[row])),
            )

    def _encode(self, change_budget: Units) -> tuple[npt.NDArray[Any], int]:
        """Codes for a charge that is not the offer: the level where its share was spent, the rest to look up.

        Part 1 may be above the least share there, so the room of all rows is scanned from here on.
        """
        self._row["flags"] |= kernels.IRREGULAR
        now, escape = self._row["now"], np.iinfo(self._code).max
        codes = np.where(change_budget == self.table.share[now], now, np.where(change_budget == 0, 0, escape)).astype(
            self._code
        )
        return codes, int((codes == escape).sum())

    def _publish(self, spent: Units) -> None:
        """Remember a publication, in the place of one that is out of reach."""
        size = self._published.size
        place = (self._newest + 1) % size
        if self._publications == size and self._published[place] > self.slot - self.span:
            order = (place + np.arange(size)) % size
            self._published = np.concatenate([self._published[order], np.zeros(size, np.int64)])
            self._spent_2 = np.concatenate([self._spent_2[:, order], np.zeros_like(self._spent_2)], axis=1)
            place = size
        self._publications = min(self._publications + 1, self._published.size)
        self._published[place] = self.slot
        self._spent_2[:, place] = spent
        self._newest = place

    def _clear(self, rows: npt.NDArray[np.int64]) -> None:
        for name, (_, fill) in (_ROWS | _SAVED).items():
            if name in self._row:
                self._row[name][rows] = fill
        for name in (*_CODES, "saved_code"):
            if name in self._row:
                self._row[name][rows] = 0
        self.born[rows] = self.slot
        self._past[rows >> 3, :, rows & 7] = 0
        self._codes[rows >> 3, :, rows & 7] = 0
        self._spent_2[rows] = 0
        if self._sums.size:
            self._sums[rows] = 0

    def _grow(self, more: int) -> None:
        for name, array in self._row.items():
            fill = (_ROWS | _SAVED).get(name, (None, 0))[1]
            self._row[name] = np.concatenate([array, np.full(more, fill, array.dtype)])
        for name in ("_spent_2", "_sums", "_after", "_after_until"):
            array = getattr(self, name)
            if array.size or name != "_sums":
                setattr(self, name, np.concatenate([array, np.zeros((more, array.shape[1]), np.int64)]))
        self.rows += more
        blocks = -(-self.rows // kernels.BLOCK) - self._past.shape[0]
        empty = np.zeros((blocks, self.span, kernels.BLOCK), self._code)
        self._past, self._codes = np.concatenate([self._past, empty]), np.concatenate([self._codes, empty])

    def _fit_codes(self) -> None:
        """Use wider codes when there are more levels than fit."""
        old = np.iinfo(self._code).max
        if len(self.table) < old:
            return
        self._sync()
        self._code = np.uint16 if len(self.table) < 65_535 else np.int32
        codes = self._codes.astype(self._code)
        codes[self._codes == old] = np.iinfo(self._code).max
        self._past, self._codes = self._past.astype(self._code), codes
        for name in (*_CODES, "saved_code"):
            if name in self._row:
                self._row[name] = self._row[name].astype(self._code)
        self._offered = None
