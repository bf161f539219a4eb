"""Offers to, charges and settles purely dynamic rows of one person each, compiled for millions of them.

`wevent.budgets.individual` states the invariants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.individual.certificates import Certificates
from wevent.budgets.individual.kernels.arrays import IRREGULAR, Codes, Int64s, OfferArrays, RowArrays, clear, grown
from wevent.budgets.individual.kernels.reading import read_borders, read_rooms
from wevent.budgets.individual.kernels.writing import assign
from wevent.budgets.individual.offers import Kind, offer_halves, offer_paced
from wevent.budgets.individual.past import IndividualPast
from wevent.budgets.levels import LevelTable
from wevent.budgets.refusals import refuse_overspend
from wevent.errors import NotCharged
from wevent.settings import Rest
from wevent.units import Units


class IndividualRows:
    """Dynamic rows with their last declarations, spends and certificates.

    Guarantees:
        Offers, rooms, borders and refusals equal those of the path in numpy, to the last unit.

    Attributes:
        past: what the rows declared and spent, and the slot that is charged next.
        rows: how many rows there are, free ones included.
    """

    def __init__(self, table: LevelTable, span: int, slot: int) -> None:
        self.past = IndividualPast(table, span, slot)
        self.rows = 0
        self._certificates = Certificates(self.past)
        none, codes = np.zeros(0, np.int64), np.zeros(0, self.past.code)
        self._row = RowArrays(none, none, np.zeros(0, np.uint8), codes, codes)
        self._free: list[int] = []
        self._closed: Units | None = None  # publish budgets of a slot that the certificates do not hold yet
        self._offered: OfferArrays | None = None  # the offer for the next slot, while nothing has changed since
        self._charged: Units | None = None  # publish budgets of the slot that is charged and not settled

    # --- rows ------------------------------------------------------------------------------------

    @property
    def sizes(self) -> Int64s:
        """1 for a row with its person, 0 for one without (axes: row)."""
        return self._row.sizes

    @property
    def born(self) -> Int64s:
        """The slot in which each row was opened (axes: row)."""
        return self._row.born

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.past.nbytes + self._certificates.nbytes + sum(array.nbytes for array in self._row)

    def open_rows(self, levels: Int64s) -> Int64s:
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

    def resize(self, rows: Int64s | int, size: int) -> None:
        """Set whether rows have their person (1) or not (0); without, they declare nothing."""
        self.sizes[rows] = size
        if size == 0:
            self._row.declared_level[rows] = 0
        self._offered, self._certificates.not_resting = None, 0

    def declare(self, rows: Int64s | slice | int, levels: Codes | int) -> None:
        """Let rows declare levels from the next slot on; 0 for none."""
        self._fit_codes()
        self._row.declared_level[rows] = levels
        self._offered, self._certificates.not_resting = None, 0

    def declare_all(self, levels: Int64s, choice: npt.NDArray[np.integer[Any]]) -> None:
        """Let row k declare `levels[choice[k]]` from the next slot on; -1 for no change."""
        self._fit_codes()
        assign(self._row.declared_level, levels.astype(self.past.code), choice)
        self._offered, self._certificates.not_resting = None, 0

    def hold(self, forgotten: int, no_room_before: int) -> None:
        """Windows that reach back to `forgotten` are unknown from now on; no row has room before `no_room_before`."""
        self.past.forgotten, self.past.no_room_before = forgotten, no_room_before
        self._offered = None

    def extend(self, span: int) -> None:
        """Remember `span` slots back from now on."""
        self._sync()
        self.past.extend(span)
        self._offered = None

    # --- the life of a slot ----------------------------------------------------------------------

    def offer(self, kind: Kind, rest: Rest) -> tuple[Units, Units, bool]:
        """Change and publish budgets, both cut to the room, and whether a row rests and makes all rows rest."""
        self._fit_codes()
        self._sync()
        self._offered, nullified = offer_halves(self.past, self._certificates, self._row, kind, rest)
        return (*_read_only(self._offered), nullified)

    def offer_paced(self, interval: int) -> tuple[Units, Units]:
        """No change budget, and the least E / ceil(w/k) cut to the room; nothing for an interval of 0."""
        self._fit_codes()
        self._sync()
        self._offered = offer_paced(self.past, self._certificates, self._row, interval)
        return _read_only(self._offered)

    def charge(self, change_budget: Units, publish_budget: Units, first_row: int) -> None:
        """Spend both budgets in the next slot; refused for all rows if any has less room."""
        offered = self._offered
        if (
            offered is not None
            and np.array_equal(change_budget, offered.change_budget)
            and np.array_equal(publish_budget, offered.publish_budget)
        ):
            change_budget, publish_budget = offered.change_budget, offered.publish_budget
        else:
            refuse_overspend(change_budget, publish_budget, self.room(), self.past.slot, first_row)
        self.write(change_budget, publish_budget)

    def write(self, change_budget: Units, publish_budget: Units) -> None:
        """Spend both budgets in the next slot, whatever room there is."""
        self._sync()
        offered = self._offered
        if offered is not None and change_budget is offered.change_budget:
            codes = offered.change_codes
        else:  # a change budget may be above the least share: the room of all rows is scanned from here on
            self._row.flags[:] |= IRREGULAR
            codes = self.past.encode(change_budget, self._row.declared_level)
        self.past.write(self._row.declared_level, codes, change_budget)
        self._charged = publish_budget

    def settle(self, published: bool) -> None:
        """Close the slot; the publish budgets were spent if `published`."""
        if self._charged is None:
            raise NotCharged(
                f"slot {self.past.slot} was not charged; charge it before settling it", slot=self.past.slot
            )
        spent, self._charged = self._charged.view(), None
        if published and spent.any():
            self.past.publish(spent)
        else:
            spent = spent[:0]
        spent.flags.writeable = False  # always, or numba compiles every kernel twice
        np.copyto(self._row.closed_level, self._row.declared_level)
        self._closed, self._offered = spent, None
        self.past.slot += 1

    # --- reading ---------------------------------------------------------------------------------

    def room(self) -> Units:
        """The most each row may spend in the next slot, in all (axes: row)."""
        result = np.zeros(self.rows, np.int64)
        if self.past.slot >= self.past.no_room_before:
            read_rooms(self.past.levels(), self.past.arrays(), self._row, result)
        return result

    def borders(self) -> npt.NDArray[np.float64]:
        """Largest border b(τ) of each row over its active declarations, -inf without one (axes: row)."""
        result = np.empty(self.rows)
        read_borders(self.past.levels(), self.past.arrays(), self._row, result)
        return result

    def declared(self, rows: Int64s) -> Int64s:
        """What rows declare for the next slot (axes: row)."""
        return self._row.declared_level[rows].astype(np.int64)

    def spends(self, row: int) -> tuple[Units, Units]:
        """Change and publish budgets of a row in the last span - 1 slots, oldest first."""
        rows = np.array([row])
        return self.past.change_budgets(rows)[:, 0], self.past.publish_budgets(rows)[:, 0]

    # --- bytes -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        self._sync()
        return {
            "rows": self.rows,
            "row": self._row._asdict(),
            "past": self.past.state(),
            "certificates": self._certificates.state(),
            "free": np.array(self._free, np.int64),
            "charged": self._charged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take everything but the table over from `state()`."""
        self.rows = state["rows"]
        self._row = RowArrays(**state["row"])
        self.past.restore(state["past"])
        self._certificates.restore(state["certificates"])
        self._free, self._charged = state["free"].tolist(), state["charged"]
        self._closed, self._offered = None, None

    # --- inside ----------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Take the closed slot, if there is one, into the certificates."""
        if self._closed is not None:
            spent, self._closed = self._closed, None
            self._certificates.take_slot(self._row, spent)

    def _clear(self, rows: Int64s) -> None:
        clear(self._row, rows)
        self.born[rows] = self.past.slot
        self.past.clear(rows)
        self._certificates.clear(rows)

    def _grow(self, more: int) -> None:
        self.rows += more
        self._row = grown(self._row, more)
        self.past.grow(more)
        self._certificates.grow(more)

    def _fit_codes(self) -> None:
        """Use wider codes when there are more levels than fit."""
        if len(self.past.table) < self.past.irregular_code:
            return
        self._sync()
        code = np.uint16 if len(self.past.table) < 65_535 else np.int32
        self.past.widen(code)
        self._certificates.widen(code)
        row = self._row
        self._row = row._replace(
            declared_level=row.declared_level.astype(code), closed_level=row.closed_level.astype(code)
        )
        self._offered = None


def _read_only(offer: OfferArrays) -> tuple[Units, Units]:
    """Both budgets; a charge that equals them is not checked again, so no caller may write to them."""
    offer.change_budget.flags.writeable = offer.publish_budget.flags.writeable = False
    return offer.change_budget, offer.publish_budget
