"""Holds the rows of a ledger: what each requires and has spent.

A row is a cohort of people who share a fixed requirement, a group of declared size, or one person. It has a history of
spends, live fixed versions and declared dynamic requirements. Where numba is installed, people with dynamic
requirements have individual rows, which are kept apart (`budgets.individual`). Nothing is spent here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.declarations import Declarations
from wevent.budgets.history import History
from wevent.budgets.refusals import INDIVIDUAL as INDIVIDUAL
from wevent.budgets.refusals import longest_window, refuse_oversize
from wevent.budgets.versions import Versions
from wevent.budgets.view import LedgerView
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.settings import Privacy
from wevent.units import Units

if TYPE_CHECKING:
    from wevent.budgets.individual.rows import IndividualRows


class Rows:
    """Rows, what they require and what they spent.

    Guarantees:
        A new requirement counts the row's past; an old one stays alive until its windows close.
        Memory depends on rows and windows, never on how many slots have passed.
    """

    def __init__(self, privacy: Privacy | None = None, history_slots: int = 1, *, fast: bool = False) -> None:
        self.privacy = privacy or Privacy()
        self.fast = fast
        self.history = History(history_slots)
        self.versions = Versions()
        self.declarations = Declarations(history_slots, fast=fast)
        self.individual: IndividualRows | None = None  # made with the first individual row
        self.sizes = np.zeros(0, np.int64)  # people in each row outside the individual ones, 0 for empty and free rows
        self.last_slot = 0  # the last slot in which a publish budget was spent, 0 if none
        self._last_spend = np.zeros(0, np.int64)  # publish budget that each of these rows spent there
        self._free: list[int] = []  # rows without members, past and versions, to be used again; the last one first
        self._view: LedgerView | None = None  # made when needed, dropped with every change

    @property
    def slot(self) -> int:
        """The slot that is charged next."""
        return self.history.slot

    @property
    def span(self) -> int:
        """How many slots back are remembered: the longest window so far."""
        return self.history.span

    @property
    def rows(self) -> int:
        """How many rows there are, those without members included; individual rows come last."""
        return self.history.rows + (self.individual.rows if self.individual else 0)

    @property
    def unused(self) -> int:
        """How many rows outside the individual ones are free to be used again."""
        return len(self._free)

    @property
    def nbytes(self) -> int:
        """Bytes held for rows."""
        parts = (self.history, self.versions, self.declarations, self.sizes, self._last_spend, self.individual)
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def all_sizes(self) -> npt.NDArray[np.int64]:
        """How many registered people each row stands for, individual rows last (axes: row)."""
        return self.sizes if self.individual is None else self._join(self.sizes, self.individual.sizes)

    def view(self) -> LedgerView:
        """How the rows outside the individual ones stand before the next slot."""
        if self._view is None:
            self.versions.prune(self.slot)
            self._view = LedgerView(
                self.history,
                self.versions,
                self.declarations,
                self.sizes,
                self.last_slot,
                self._last_spend,
                self.individual,
            )
        return self._view

    def room(self) -> Units:
        """The most each row may spend in the next slot, in all (axes: row)."""
        room = self.view().room
        return room if self.individual is None else np.concatenate([room, self.individual.room()])

    def borders(self) -> npt.NDArray[np.float64]:
        """Largest border b(τ) of each row's active declarations, -inf without one (axes: row)."""
        borders = self.view().borders
        return borders if self.individual is None else np.concatenate([borders, self.individual.borders()])

    # --- changes between slots -----------------------------------------------------------------

    def open_row(self, requirement: Requirement, size: int) -> int:
        """A new row without any past."""
        refuse_oversize(self, longest_window(requirement), more=1)
        self.remember(requirement)
        row = self._new_row()
        self.require(row, requirement)
        self.sizes[row] = size
        return row

    def open_fixed(
        self, epsilon: Units, window: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Many new rows of fixed requirements at once."""
        self._span(int(window.max(initial=1)))
        rows = self._new_rows(epsilon.size)
        self.sizes[rows] = sizes
        self.versions.begin(rows, epsilon, window, self.slot)
        return rows

    def open_dynamic(self, levels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A new row for each of many people with dynamic requirements; individual rows if the ledger is fast."""
        if self.fast:
            if self.individual is None:
                from wevent.budgets.individual.rows import IndividualRows

                self.individual = IndividualRows(self.declarations.table, self.span, self.slot)
                self.individual.hold(self.history.forgotten, self.history.held)
            self._view = None
            return INDIVIDUAL + self.individual.open_rows(levels)
        reused = [self._new_row() for _ in range(min(levels.size, len(self._free)))]
        rows = np.concatenate([np.array(reused, np.int64), self._new_rows(levels.size - len(reused))])
        self.sizes[rows] = 1
        self.declarations.reserve(self.history.rows)
        self.declarations.in_force[rows] = levels
        return rows

    def levels(self, table: Sequence[Requirement]) -> npt.NDArray[np.int64]:
        """The level of each dynamic requirement of a table, 0 for a fixed one."""
        for requirement in table:
            self.remember(requirement)
        return np.array([self.declarations.table.add(r) if isinstance(r, Dynamic) else 0 for r in table], np.int64)

    def declaring(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these rows, no individual ones, have a dynamic requirement in force."""
        self.declarations.reserve(self.history.rows)
        return self.declarations.in_force[rows] > 0

    def declare_rows(self, rows: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]) -> None:
        """Let rows that have a dynamic requirement in force declare another level from the next slot on."""
        inside = rows >= INDIVIDUAL
        if self.individual is not None and inside.any():
            self.individual.declare(rows[inside] - INDIVIDUAL, levels[inside])
        self.declarations.in_force[rows[~inside]] = levels[~inside]
        self._view = None

    def declare_individual(self, levels: npt.NDArray[np.int64], choice: npt.NDArray[np.integer[Any]]) -> None:
        """Let individual row k declare `levels[choice[k]]` from the next slot on; -1 for no change."""
        if self.individual is not None:
            self.individual.declare_all(levels, choice)
        self._view = None

    def require(self, row: int, requirement: Requirement) -> None:
        """Put a requirement into force from the next slot on; earlier ones end and stay alive (SPEC §2)."""
        self.remember(requirement)
        self.end_row(row)
        if row >= INDIVIDUAL:
            self.individual_rows(row).declare(row - INDIVIDUAL, int(self.levels([requirement])[0]))
        elif isinstance(requirement, Fixed):
            self.versions.begin(row, requirement.units, requirement.window, self.slot)
        else:
            self.declarations.reserve(row + 1)
            self.declarations.in_force[row] = self.declarations.table.add(requirement)
        self._view = None

    def end_row(self, row: int) -> None:
        """End what a row has in force; its versions stay alive until their windows close."""
        if row >= INDIVIDUAL:
            self.individual_rows(row).declare(row - INDIVIDUAL, 0)
            return
        self.versions.end(row, self.slot - 1)
        if row < self.declarations.in_force.size:
            self.declarations.in_force[row] = 0
        self._view = None

    def free_row(self, row: int) -> None:
        """Forget a row without members whose windows have closed."""
        if row >= INDIVIDUAL:
            self.individual_rows(row).free_row(row - INDIVIDUAL)
            return
        self.versions.drop_row(row)
        self.declarations.clear(row)
        self.history.clear(row)
        self.sizes[row], self._last_spend[row] = 0, 0
        self._free.append(row)
        self._view = None

    def size(self, row: int) -> int:
        """How many people a row stands for."""
        return int(self.individual_rows(row).sizes[row - INDIVIDUAL] if row >= INDIVIDUAL else self.sizes[row])

    def resize(self, row: int, size: int) -> None:
        """Set how many people a row stands for."""
        if row >= INDIVIDUAL:
            self.individual_rows(row).resize(row - INDIVIDUAL, size)
        else:
            self.sizes[row] = size
        self._view = None

    def remember(self, requirement: Requirement) -> None:
        """Remember as many slots from now on as the windows of a requirement have."""
        self._span(longest_window(requirement))

    def forget(self, last: int) -> None:
        """Forget a person whose last registered slot was `last`: any newcomer may be that person."""
        self.history.forgotten = max(self.history.forgotten, last)
        if self.individual is not None:
            self.individual.hold(self.history.forgotten, self.history.held)
        self._view = None

    def hold_back(self, until: int) -> None:
        """Leave nobody room before slot `until`, newcomers included."""
        self.history.held = max(self.history.held, until)
        if self.individual is not None:
            self.individual.hold(self.history.forgotten, self.history.held)
        self._view = None

    # --- inside --------------------------------------------------------------------------------

    def _join(self, outside: Units, individual: Units) -> Units:
        return np.concatenate([outside, individual]) if self.history.rows else individual

    def individual_rows(self, row: int) -> IndividualRows:
        """The individual rows, which must have this one."""
        if self.individual is None or not INDIVIDUAL <= row < INDIVIDUAL + self.individual.rows:
            raise IndexError(f"no individual row {row}")
        return self.individual

    def _new_row(self) -> int:
        if not self._free:
            return int(self._new_rows(1)[0])
        row = self._free.pop()
        self.history.clear(row)
        self._view = None
        return row

    def _new_rows(self, many: int) -> npt.NDArray[np.int64]:
        rows = self.history.open_rows(many)
        self.sizes = np.concatenate([self.sizes, np.zeros(many, np.int64)])
        self._last_spend = np.concatenate([self._last_spend, np.zeros(many, np.int64)])
        self._view = None
        return rows

    def _span(self, window: int) -> None:
        if window > self.span:
            self.history.extend(window)
            self.declarations.extend(window, self.slot)
            if self.individual is not None:
                self.individual.extend(window)
            self._view = None
