"""Gives every person the row in which they count: shared rows, rows of one person, and rows that wait to be freed.

Every row keeps the invariant of `budgets.pasts`, because `place` is the only way into one.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from wevent.budgets.invariant import check_placed
from wevent.budgets.ledger import Ledger
from wevent.budgets.pasts import Past
from wevent.budgets.refusals import INDIVIDUAL, longest_window, refuse_infeasible, refuse_oversize
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Fixed, Requirement

Terms = tuple[int, int]
"""A fixed requirement as (units, window)."""


class Placement:
    """Which rows people share, and which rows are empty.

    A row that is neither shared nor a group's stands for one person.

    Guarantees:
        `place` keeps the invariant of rows, and a refusal changes nothing.
        Which rows are merged and freed, and when, depends on slots alone.
    """

    def __init__(self, ledger: Ledger, groups: tuple[int, ...] = ()) -> None:
        self.ledger = ledger
        self.groups = groups  # the rows of declared groups; never changes
        self.shared: dict[int, Terms] = {}  # every shared row with its requirement, until it is freed
        self.cohorts: dict[Terms, int] = {}  # of the shared rows of a requirement, the one that newcomers try first
        self._branched: dict[Terms, int] = {}  # shared rows opened since the last slot began; newcomers try them next
        self._empty: dict[int, int] = {}  # rows without members, with the last slot before that, oldest first

    def newcomer(self) -> Past:
        """The past of a person who joins now: they may have been counted in any group until now, and nowhere else."""
        return Past(self.groups if self.ledger.slot > 1 else (), self.ledger.slot - 1)

    def place(self, past: Past, requirement: Requirement) -> int:
        """Give a person with this past a row for a requirement, from the next slot on; they count as its member.

        Their own row stays theirs. Otherwise a shared row that covers the past takes them. Otherwise they get a branch
        of the past, which newcomers with the same fixed requirement share.
        """
        ledger, terms = self.ledger, fixed_terms(requirement)
        shared = None if past.own or terms is None else self._covering(past, terms)
        if shared is not None:
            ledger.cover(shared, past)
            return self._enter(shared, past)
        refuse_infeasible(ledger, past, requirement)
        individual = ledger.fast and terms is None and not past.rows
        stays = past.own and (terms is None or past.rows[0] < INDIVIDUAL)
        refuse_oversize(ledger, longest_window(requirement), int(not (individual or stays)), int(individual))
        if individual:
            return int(ledger.open_dynamic(ledger.levels([requirement]))[0])
        ledger.remember(requirement)
        if not past.own:
            row = ledger.branch(past)
        elif stays:
            row = past.rows[0]
        else:
            self._empty.pop(past.rows[0], None)
            row = ledger.leave_individual(past.rows[0])
        ledger.require(row, requirement)
        if terms is not None and past == self.newcomer():
            self.share(terms, row)
        return self._enter(row, past)

    def share(self, terms: Terms, row: int) -> None:
        """Let people with a fixed requirement share a row from now on."""
        self.shared[row] = terms
        self.cohorts.setdefault(terms, row)
        self._branched[terms] = row

    def withdraw(self, row: int) -> None:
        """Count one member fewer in a row; an empty row waits until no window reaches its past."""
        self.ledger.resize(row, self.ledger.size(row) - 1)
        if self.ledger.size(row) == 0:
            if row not in self.shared:
                self.ledger.end_row(row)
            self._empty[row] = self.ledger.slot - 1

    def begin_slot(self) -> None:
        """Free the rows that have been empty for longer than any window."""
        self._branched.clear()
        passed = self.ledger.slot - self.ledger.span
        for row in list(takewhile(lambda row: self._empty[row] < passed, self._empty)):
            self._free(row)

    def merge(self, register: Register) -> int:
        """Move people into a shared row that covers theirs, if there is one; return how many moved."""
        ledger, target, moved = self.ledger, dict[int, int](), 0
        alike, taken = self._alike(), {*self.shared, *self.groups}
        own = [row for row in np.flatnonzero(ledger.sizes).tolist() if row not in taken]
        for row in [*own, *(row for rows in alike.values() for row in rows[:0:-1])]:
            past, terms = Past((row,), ledger.slot - 1), ledger.versions.in_force(row)
            others = (other for other in alike.get(terms, []) if other != row and ledger.size(other)) if terms else ()
            cohort = next((other for other in others if ledger.covers(other, past)), None)
            if cohort is not None:
                ledger.cover(cohort, past)
                check_placed(ledger, cohort, past)
                target[row] = cohort
                moved += ledger.size(row)
                ledger.resize(cohort, ledger.size(cohort) + ledger.size(row))
                ledger.resize(row, 0)
                if row in self.shared:
                    self._empty[row] = ledger.slot - 1  # people who left it lately may come back to its past
                else:
                    self._free(row)
        for row in reversed(target):  # a row may merge into one that merges later
            target[row] = target.get(target[row], target[row])
        register.move_rows(target)
        return moved

    def _covering(self, past: Past, terms: Terms) -> int | None:
        """The shared row of a requirement that a person with this past may enter now."""
        if len(past.rows) == 1 and self.shared.get(past.rows[0]) == terms:
            return past.rows[0]
        if past != self.newcomer():
            return None
        tried = (self.cohorts.get(terms), self._branched.get(terms))
        return next((row for row in tried if row is not None and self.ledger.covers(row, past)), None)

    def _enter(self, row: int, past: Past) -> int:
        if not past.own or self.ledger.size(row) == 0:
            self._empty.pop(row, None)
            self.ledger.resize(row, self.ledger.size(row) + 1)
        check_placed(self.ledger, row, past)
        return row

    def _free(self, row: int) -> None:
        self._empty.pop(row, None)
        terms = self.shared.pop(row, None)
        if terms is not None and self.cohorts.get(terms) == row:
            del self.cohorts[terms]
        self.ledger.free_row(row)

    def _alike(self) -> dict[Terms, list[int]]:
        """Shared rows with members by requirement, the cohort first."""
        alike: dict[Terms, list[int]] = {}
        for row, terms in self.shared.items():
            if self.ledger.size(row) > 0:
                alike.setdefault(terms, []).append(row)
        for terms, rows in alike.items():
            if self.cohorts.get(terms) not in rows:
                self.cohorts[terms] = rows[0]
            rows.sort(key=lambda row: row != self.cohorts[terms])
        return alike

    def state(self) -> dict[str, Any]:
        """Everything but the ledger, as plain values."""
        return {
            "groups": list(self.groups),
            "shared": [[row, *terms] for row, terms in self.shared.items()],
            "cohorts": list(self.cohorts.values()),
            "branched": list(self._branched.values()),
            "empty": [list(pair) for pair in self._empty.items()],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], ledger: Ledger) -> Placement:
        """The same placement again, over a ledger that came back from its own bytes."""
        placement = cls(ledger, tuple(state["groups"]))
        placement.shared = {row: (units, window) for row, units, window in state["shared"]}
        placement.cohorts = {placement.shared[row]: row for row in state["cohorts"]}
        placement._branched = {placement.shared[row]: row for row in state["branched"]}
        placement._empty = dict(state["empty"])
        return placement


def fixed_terms(requirement: Requirement) -> Terms | None:
    """A fixed requirement as (units, window); None for a dynamic one."""
    return (requirement.units, requirement.window) if isinstance(requirement, Fixed) else None
