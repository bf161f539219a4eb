"""The rows of a ledger: requirements and changes come in, rows with the right past and live limits go out.

A row is a cohort of people who share a fixed requirement, a group of declared size, or one person. It has
a history of spends, live fixed versions and declared dynamic requirements; large crowds of dynamic rows
are kept apart (`budgets.individual`). Nothing is spent here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.declarations import Declarations
from wevent.budgets.history import History
from wevent.budgets.refusals import INDIVIDUAL as INDIVIDUAL
from wevent.budgets.refusals import longest_window, refuse_infeasible, refuse_oversize
from wevent.budgets.versions import Versions
from wevent.budgets.view import LedgerView
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.settings import Privacy
from wevent.units import Units

if TYPE_CHECKING:
    from wevent.budgets.individual.rows import IndividualRows


class Rows:
    """Rows, what they ask for and what they spent.

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
        self.individual: IndividualRows | None = None
        self.sizes = np.zeros(0, np.int64)
        self.last_slot = 0
        self._last_spend = np.zeros(0, np.int64)
        self._free: list[int] = []
        self._view: LedgerView | None = None

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
        """Rows, those without members included; rows of the crowd come last."""
        return self.history.rows + (self.individual.rows if self.individual else 0)

    @property
    def unused(self) -> int:
        """Rows outside the crowd that wait for somebody."""
        return len(self._free)

    @property
    def nbytes(self) -> int:
        """Bytes held for rows."""
        mine = self.history.nbytes + self.versions.nbytes + self.declarations.nbytes
        return mine + self.sizes.nbytes + self._last_spend.nbytes + (self.individual.nbytes if self.individual else 0)

    @property
    def all_sizes(self) -> npt.NDArray[np.int64]:
        """How many registered people each row stands for, crowd last (axes: row)."""
        return self.sizes if self.individual is None else self._join(self.sizes, self.individual.sizes)

    def view(self) -> LedgerView:
        """How the rows outside the crowd stand before the next slot."""
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
        mine = self.view().borders
        return mine if self.individual is None else np.concatenate([mine, self.individual.borders()])

    # --- changes between slots -----------------------------------------------------------------

    def open_row(self, requirement: Requirement, size: int) -> int:
        """A new row without any past."""
        refuse_oversize(self, longest_window(requirement), more=1)
        self.remember(requirement)
        row = self._new_row()
        self._ask(row, requirement)
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
        """A new row of its own for each of many people with dynamic requirements; in the crowd if that is fast."""
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
        self.declarations.now[rows] = levels
        return rows

    def levels(self, table: Sequence[Requirement]) -> npt.NDArray[np.int64]:
        """The level of each dynamic requirement of a table, 0 for a fixed one."""
        for requirement in table:
            self.remember(requirement)
        return np.array([self.declarations.table.add(r) if isinstance(r, Dynamic) else 0 for r in table], np.int64)

    def declaring(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these rows, none of them in the crowd, have a dynamic requirement in force."""
        self.declarations.reserve(self.history.rows)
        return self.declarations.now[rows] > 0

    def declare_rows(self, rows: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]) -> None:
        """Let rows that have a dynamic requirement in force declare another level from the next slot on."""
        inside = rows >= INDIVIDUAL
        if self.individual is not None and inside.any():
            self.individual.declare(rows[inside] - INDIVIDUAL, levels[inside])
        self.declarations.now[rows[~inside]] = levels[~inside]
        self._view = None

    def declare_individual(self, levels: npt.NDArray[np.int64], choice: npt.NDArray[np.integer[Any]]) -> None:
        """Let row k of the crowd declare `levels[choice[k]]` from the next slot on; -1 for no change."""
        if self.individual is not None:
            self.individual.declare_all(levels, choice)
        self._view = None

    def change_row(self, row: int, requirement: Requirement) -> None:
        """Let another requirement be in force from the next slot on; the old ones stay alive (SPEC §2)."""
        refuse_infeasible(self, [row], requirement, self.slot - 1)
        refuse_oversize(self, longest_window(requirement))
        self.remember(requirement)
        self.end_row(row)
        self._ask(row, requirement)

    def end_row(self, row: int) -> None:
        """End what a row has in force; its versions stay alive until their windows close."""
        if row >= INDIVIDUAL:
            self.in_crowd(row).declare(row - INDIVIDUAL, 0)
            return
        self.versions.end(row, self.slot - 1)
        if row < self.declarations.now.size:
            self.declarations.now[row] = 0
        self._view = None

    def free_row(self, row: int) -> None:
        """Forget a row without members whose windows have closed."""
        if row >= INDIVIDUAL:
            self.in_crowd(row).free_row(row - INDIVIDUAL)
            return
        self.versions.drop_row(row)
        self.declarations.clear(row)
        self.history.clear(row)
        self.sizes[row], self._last_spend[row] = 0, 0
        self._free.append(row)
        self._view = None

    def size(self, row: int) -> int:
        """How many people a row stands for."""
        return int(self.in_crowd(row).sizes[row - INDIVIDUAL] if row >= INDIVIDUAL else self.sizes[row])

    def resize(self, row: int, size: int) -> None:
        """Set how many people a row stands for."""
        if row >= INDIVIDUAL:
            self.in_crowd(row).resize(row - INDIVIDUAL, size)
        else:
            self.sizes[row] = size
        self._view = None

    def remember(self, requirement: Requirement) -> None:
        """Make sure that the windows of a requirement can be looked back on from now on."""
        self._span(longest_window(requirement))

    def forget(self, last: int) -> None:
        """Somebody was forgotten whose last registered slot was `last`; whoever joins may be them."""
        self.history.forgotten = max(self.history.forgotten, last)
        if self.individual is not None:
            self.individual.hold(self.history.forgotten, self.history.held)
        self._view = None

    def hold_back(self, until: int) -> None:
        """Leave nobody room before slot `until`, whoever joins until then included."""
        self.history.held = max(self.history.held, until)
        if self.individual is not None:
            self.individual.hold(self.history.forgotten, self.history.held)
        self._view = None

    # --- inside --------------------------------------------------------------------------------

    def _join(self, mine: Units, individual: Units) -> Units:
        return np.concatenate([mine, individual]) if self.history.rows else individual

    def in_crowd(self, row: int) -> IndividualRows:
        """The crowd, which must have this row."""
        if self.individual is None or not INDIVIDUAL <= row < INDIVIDUAL + self.individual.rows:
            raise IndexError(f"no row {row} in the crowd")
        return self.individual

    def _ask(self, row: int, requirement: Requirement) -> None:
        if row >= INDIVIDUAL:
            self.in_crowd(row).declare(row - INDIVIDUAL, int(self.levels([requirement])[0]))
        elif isinstance(requirement, Fixed):
            self.versions.begin(row, requirement.units, requirement.window, self.slot)
        else:
            self.declarations.reserve(row + 1)
            self.declarations.now[row] = self.declarations.table.add(requirement)
        self._view = None

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
