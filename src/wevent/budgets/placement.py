"""Chooses the row of each person: cohorts that are shared, rows of one's own, rows that wait to be freed.

Whoever joins a stream with a declared group may have been counted in it until now, so they get a row whose past covers
that of the group: a cohort that does, or a branch, which those who join before the same slot with the same fixed
requirement share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from wevent.budgets.ledger import Ledger
from wevent.budgets.refusals import INDIVIDUAL, longest_window, refuse_infeasible, refuse_oversize
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement

Asked = tuple[int, int]
"""A fixed requirement as (units, window)."""


@dataclass(frozen=True, slots=True)
class Departed:
    """Somebody who left: the row they were in, and the last slot they were registered in."""

    row: int
    last: int


class Placement:
    """Which rows are shared, by whom the others are owned, and which are empty.

    Guarantees:
        Everybody's row keeps the invariant of `budgets.pasts`.
        What is freed, and when, depends on slots alone.

    Attributes:
        cohorts: the row that people with a fixed requirement join.
        shared: every row that people share, with its requirement; some are no longer joined.
        own: the owner of each row of one person outside the crowd.
        emptied: rows that lost their last member, with the last slot before that, oldest first.
        empty_since: that slot again for each empty row; an entry of `emptied` that differs is out of date.
        branched: shared rows with a past of the groups that were made since the last slot.
        groups: the rows of declared groups.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.cohorts: dict[Asked, int] = {}
        self.shared: dict[int, Asked] = {}
        self.own: dict[int, Hashable] = {}
        self.emptied: deque[tuple[int, int]] = deque()
        self.empty_since: dict[int, int] = {}
        self.branched: dict[Asked, int] = {}
        self.groups: list[int] = []

    # --- rows for people -------------------------------------------------------------------------

    def place(self, away: Departed | None, requirement: Requirement) -> int:
        """A row for somebody who joins, with the past they left behind if there is one."""
        if away is not None and away.row not in self.shared:
            row = self.ask_anew(away.row, requirement)
            self.ledger.resize(row, 1)
            return row
        if away is not None and self.asks(away.row) != _asked(requirement):
            return self.branch(away.row, away.last, requirement)
        if away is not None:
            return self._one_more(away.row)
        if self.groups and self.ledger.slot > 1:
            return self._listed(requirement)
        return self._new(requirement)

    def past(self, away: Departed | None) -> tuple[list[int], int]:
        """The rows whose past somebody who joins takes along, and up to which slot."""
        if away is not None:
            return [away.row], away.last
        return (self.groups if self.ledger.slot > 1 else []), self.ledger.slot - 1

    def asks(self, row: int) -> Asked | None:
        """What a shared row requires; None for others."""
        return self.shared.get(row)

    def branch(self, row: int, until: int, requirement: Requirement) -> int:
        """A row of one's own with the past of a shared one up to slot `until`."""
        refuse_infeasible(self.ledger, [row], requirement, until)
        refuse_oversize(self.ledger, longest_window(requirement), more=1)
        own = self.ledger.copy_row(row, 1, until)
        self.ledger.change_row(own, requirement)
        return own

    def ask_anew(self, row: int, requirement: Requirement) -> int:
        """The row of one's own after a requirement change; leaving the crowd takes the past along."""
        if row >= INDIVIDUAL and not isinstance(requirement, Dynamic):
            refuse_oversize(self.ledger, longest_window(requirement), more=1)
            self.empty_since.pop(row, None)  # leaving frees the row, and nothing may free it a second time
            row = self.ledger.leave_crowd(row)
        self.ledger.change_row(row, requirement)
        return row

    def take(self, row: int, user: Hashable) -> None:
        """Note the owner of a row of one person outside the crowd."""
        if row < INDIVIDUAL and row not in self.shared:
            self.own[row] = user

    def share(self, asked: Asked, row: int) -> None:
        """Let everybody with a fixed requirement join a row from now on."""
        self.cohorts[asked] = row
        self.shared[row] = asked

    def _new(self, requirement: Requirement) -> int:
        """A row for somebody without any past."""
        if isinstance(requirement, Dynamic):
            refuse_infeasible(self.ledger, [], requirement, self.ledger.slot - 1)
            many = (0, 1) if self.ledger.fast else (1, 0)
            refuse_oversize(self.ledger, longest_window(requirement), *many)
            return int(self.ledger.open_dynamic(self.ledger.levels([requirement]))[0])
        cohort = self.cohorts.get((requirement.units, requirement.window))
        if cohort is not None:
            return self._one_more(cohort)
        row = self.ledger.open_row(requirement, 1)
        self.share((requirement.units, requirement.window), row)
        return row

    def _listed(self, requirement: Requirement) -> int:
        """A row for somebody who may have been counted in any group until now."""
        asked = _asked(requirement)
        if asked is None:
            return self.ledger.branch(self.groups, requirement)
        cohort = self.cohorts.get(asked)
        if cohort is not None and self.ledger.covers(cohort, self.groups):
            return self._one_more(cohort)
        if asked in self.branched:
            return self._one_more(self.branched[asked])
        row = self.branched[asked] = self.ledger.branch(self.groups, requirement)
        self.shared[row] = asked
        self.cohorts.setdefault(asked, row)
        return row

    def _one_more(self, row: int) -> int:
        self.ledger.resize(row, self.ledger.size(row) + 1)
        return row

    # --- rows without people ---------------------------------------------------------------------

    def shrink(self, row: int) -> None:
        """One member fewer."""
        left = self.ledger.size(row) - 1
        self.ledger.resize(row, left)
        if left == 0:
            if row not in self.shared:
                self.ledger.end_row(row)
                self.own.pop(row, None)
            self._empty(row)

    def free(self) -> None:
        """Free the rows that have been empty for longer than any window."""
        slot, span = self.ledger.slot, self.ledger.span
        self.branched.clear()
        while self.emptied and self.emptied[0][0] + span < slot:
            since, row = self.emptied.popleft()
            if self.ledger.size(row) == 0 and self.empty_since.get(row) == since:
                del self.empty_since[row]
                self.shared.pop(row, None)
                self.cohorts = {asked: cohort for asked, cohort in self.cohorts.items() if cohort != row}
                self.ledger.free_row(row)

    def consolidate(self, register: Register) -> int:
        """Move people into a cohort that dominates the row they are in; return how many moved."""
        moved, ledger = 0, self.ledger
        shared = self._alike()
        for row, user in list(self.own.items()):
            cohort = ledger.dominating(row, shared)
            if cohort is not None:
                ledger.merge(cohort, row)
                register.move(user, cohort)
                del self.own[row]
                self.empty_since.pop(row, None)  # so that nothing frees the row a second time
                ledger.free_row(row)
                moved += 1
        for row in (row for rows in shared.values() for row in rows[:0:-1]):
            cohort = ledger.dominating(row, shared)
            if cohort is not None:
                ledger.merge(cohort, row)
                for place in np.flatnonzero(register.rows == row).tolist():
                    register.move(register.users[place], cohort)
                    moved += 1
                ledger.resize(row, 0)
                self._empty(row)  # whoever left it lately may come back to its past
        return moved

    def _alike(self) -> dict[Asked, list[int]]:
        """Shared rows with members by what they require, the one that is joined first."""
        shared: dict[Asked, list[int]] = {}
        for row, asked in self.shared.items():
            if self.ledger.size(row) > 0:
                shared.setdefault(asked, []).append(row)
        for asked, rows in shared.items():
            if self.cohorts.get(asked) not in rows:
                self.cohorts[asked] = rows[0]
            rows.sort(key=lambda row: row != self.cohorts[asked])
        return shared

    def _empty(self, row: int) -> None:
        self.emptied.append((self.ledger.slot - 1, row))
        self.empty_since[row] = self.ledger.slot - 1


def _asked(requirement: Requirement) -> Asked | None:
    return (requirement.units, requirement.window) if isinstance(requirement, Fixed) else None
