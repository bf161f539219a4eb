"""Gives rows the past of other rows: copies, branches and merges.

The invariant of rows: a row's past covers every slot in which any of its members could have spent. In every slot that
is remembered the row recorded at least what each member spent; slots that it does not remember lie before its birth, in
which no member could spend, or count as forgotten, and a window that reaches back to them leaves no room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wevent.budgets.refusals import INDIVIDUAL, longest_window, refuse_infeasible, refuse_oversize
from wevent.budgets.rows import Rows
from wevent.cohorts.requirement import Requirement


class Pasts(Rows):
    """Rows that take each other's past along.

    Guarantees:
        No copy, branch or merge gives anybody a row that begins later, forgets less or recorded less than their own.
    """

    def copy_row(self, source: int, size: int, until: int) -> int:
        """A new row with the past of another up to slot `until`; what that had in force ends there."""
        row = self._new_row()
        self.history.copy_row(source, row, until)
        self.versions.copy_row(source, row)
        self.versions.end(row, until)
        self.declarations.copy_row(source, row, until, self.slot)
        self._last_spend[row] = self._last_spend[source] if until >= self.last_slot else 0
        self.sizes[row] = size
        return row

    def branch(self, sources: Sequence[int], requirement: Requirement) -> int:
        """A new row of one person whose past covers that of all `sources`, with a requirement of its own.

        Guarantees:
            It carries every live version of every source, and remembers no less and forgets no more than any.
        """
        refuse_infeasible(self, sources, requirement, self.slot - 1)
        refuse_oversize(self, longest_window(requirement), more=1)
        self.remember(requirement)
        row = self.copy_row(sources[0], 1, self.slot - 1)
        for source in sources[1:]:
            self.history.cover(row, source)
            self.versions.copy_row(source, row)
            self.versions.end(row, self.slot - 1)
            for level, last in self.declarations.active_levels(source, self.slot).items():
                table = self.declarations.table  # the window that trails behind is at least as strict as that ahead
                self.versions.begin(row, table.forward[level], table.forward_window[level], last, end=last)
            self._last_spend[row] = max(self._last_spend[row], self._last_spend[source])
        self._ask(row, requirement)
        return row

    def leave_crowd(self, row: int) -> int:
        """A row outside the crowd with the same past, declarations and size."""
        individual = self.in_crowd(row)
        place = row - INDIVIDUAL
        target, past = self._new_row(), individual.past
        change_budget, publish_budget = individual.spends(place)
        self.history.write_row(target, change_budget, publish_budget, int(individual.born[place]), past.known)
        self.declarations.write_row(target, past.declared_levels(np.array([place]))[:, 0], self.slot)
        self._last_spend[target] = past.last_spend(place, self.last_slot)
        self.sizes[target] = individual.sizes[place]
        individual.free_row(place)
        return target

    def dominating(self, row: int, shared: Mapping[tuple[int, int], Sequence[int]]) -> int | None:
        """The first of the rows shared by (budget, window) that the members of `row` may share from now on, if any."""
        self.versions.prune(self.slot)
        asked = self.versions.in_force(row)
        if asked is None or not shared.get(asked) or self.versions.live(row) != {asked}:
            return None
        if self.declarations.active_levels(row, self.slot):
            return None
        for cohort in shared[asked]:
            if cohort != row and self.sizes[cohort] > 0 and self.history.dominates(cohort, row):
                return cohort
        return None

    def merge(self, cohort: int, row: int) -> None:
        """Let the members of `row` share `cohort`, which dominates it and takes over the older birth."""
        self.history.adopt(cohort, row)
        self.resize(cohort, int(self.sizes[cohort] + self.sizes[row]))

    def covers(self, cohort: int, others: Sequence[int]) -> bool:
        """Whether somebody who was counted in any of the rows `others` until now may share a cohort.

        Guarantees:
            The cohort's past begins no later, forgets no less and holds no less in any slot than that of the others.
            What the cohort requires is at least as strict as everything that is still alive in the others.
        """
        self.versions.prune(self.slot)
        asked = self.versions.in_force(cohort)
        if asked is None:
            return False
        for row in others:
            alive = self.versions.live(row)
            for level in self.declarations.active_levels(row, self.slot):
                table = self.declarations.table
                alive.add((int(table.forward[level]), int(table.forward_window[level])))
            if any(asked[0] > epsilon or asked[1] < window for epsilon, window in alive):
                return False
            older = self.history.birth(cohort)[0] <= self.history.birth(row)[0]
            if not older or not self.history.dominates(cohort, row):
                return False
        return True
