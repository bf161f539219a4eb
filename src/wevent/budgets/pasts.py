"""Gives a row the past of a person, and decides whether a row covers it.

The invariant of rows (SPEC §2): a row's past covers every slot in which any of its members could have spent.

* In every remembered slot the row recorded at least what each member spent.
* The row carries every live version and active declaration of each member, or a stricter version that lives as long.
* A slot that the row does not remember lies before its birth, and no member could spend there; or the slot counts as
  forgotten, and a window that reaches back to it leaves no room.

A `Past` says where a person's spends are recorded. `Placement.place` is the one function that gives a person a row,
always from their whole past, in one of three ways that keep the invariant: a row of their own stays theirs, a shared
row that covers the past takes over its birth, or a branch copies the past. `budgets.invariant` asserts the invariant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wevent.budgets.rows import INDIVIDUAL, Rows
from wevent.budgets.versions import Bound


@dataclass(frozen=True, slots=True)
class Past:
    """Everything that a person could have spent until now, as the rows that recorded it.

    The rows also hold what is forgotten (their births), live versions and active declarations.

    Attributes:
        rows: where the person counted, or may have counted; none for a person who never counted anywhere.
        last: the last slot in which they counted there; what the rows spent later is not theirs.
        own: whether the one row stands for this person, or this group, alone.
    """

    rows: tuple[int, ...]
    last: int
    own: bool = False


class Pasts(Rows):
    """Rows that take each other's past along.

    Guarantees:
        `branch(past)` and, after `cover(row, past)`, any `row` that `covers(row, past)` keep the invariant of rows for
        a person with this past.
    """

    def branch(self, past: Past) -> int:
        """A new row without members whose past covers another, and without a requirement in force."""
        row = self._new_row()
        for source in past.rows[:1]:
            self.history.copy_row(source, row, past.last)
            self.versions.copy_row(source, row)
            self.declarations.copy_row(source, row, past.last, self.slot)
            self._last_spend[row] = self._last_spend[source] if past.last >= self.last_slot else 0
        for source in past.rows[1:]:
            self.history.cover(row, source)
            self.versions.copy_row(source, row)
            for bound in self._forward_bounds(source, past.last):
                last = bound.until - bound.window + 1
                self.versions.begin(row, bound.epsilon, bound.window, last, end=last)
            self._last_spend[row] = max(self._last_spend[row], self._last_spend[source])
        self.versions.end(row, past.last)
        return row

    def leave_individual(self, row: int) -> int:
        """Move an individual row, with its past, declarations and size, to the other rows; return its new number."""
        individual = self.individual_rows(row)
        place = row - INDIVIDUAL
        target, past = self._new_row(), individual.past
        change_budget, publish_budget = individual.spends(place)
        self.history.write_row(target, change_budget, publish_budget, int(individual.born[place]), past.known)
        self.declarations.write_row(target, past.declared_levels(np.array([place]))[:, 0], self.slot)
        self._last_spend[target] = past.last_spend(place, self.last_slot)
        self.sizes[target] = individual.sizes[place]
        individual.free_row(place)
        return target

    def covers(self, row: int, past: Past) -> bool:
        """Whether a person with this past may share a row, if that takes over the older birth (`cover`).

        Guarantees:
            The row recorded at least as much as the past in every remembered slot, and forgets no less.
            Some live version of the row is at least as strict as each that is alive in the past, and lives as long.
        """
        others = [source for source in past.rows if source != row]
        if not all(self.history.dominates(row, source, past.last) for source in others):
            return False
        carried = self.versions.bounds(row, self.slot) if others else []
        for source in others:
            alive = [*self.versions.bounds(source, past.last), *self._forward_bounds(source, past.last, besides=row)]
            if not all(any(bound.implies(other) for bound in carried) for other in alive if other.until >= self.slot):
                return False
        return True

    def cover(self, row: int, past: Past) -> None:
        """Let a row that covers a past stand for its owner: the row begins no later and forgets no less."""
        for source in past.rows:
            self.history.adopt(row, source)

    def _forward_bounds(self, row: int, last: int, besides: int | None = None) -> list[Bound]:
        """The forward sides that a row declared up to slot `last` and that still bind, as trailing bounds.

        A window that trails is at least as strict as one that begins with the declaration. With `besides`, without what
        that row declared in the same slots.
        """
        declared, table = self.declarations.levels(row, self.slot), self.declarations.table
        slots = np.arange(self.slot - declared.size, self.slot)
        active = (slots <= last) & (slots + table.forward_window[declared] > self.slot) & (declared > 0)
        if besides is not None:
            active &= declared != self.declarations.levels(besides, self.slot)
        newest = dict(zip(declared[active].tolist(), slots[active].tolist(), strict=True))
        sides = ((int(table.forward[level]), int(table.forward_window[level]), slot) for level, slot in newest.items())
        return [Bound(epsilon, window, slot + window - 1) for epsilon, window, slot in sides]
