"""Says which person is at which position and in which row of the ledger, now and by what the store keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.membership import Membership
from wevent.errors import CorruptState
from wevent.store.build import GROUP
from wevent.store.schema import row_assignments

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False)
class RowAssignment:
    """Who is registered (axes: person); the group of unlisted people, if there is one, comes last as person -1.

    Attributes:
        persons: their numbers.
        rows: the ledger row that is charged for each.
        positions: the position of each in aligned arrays, -1 for the group.
    """

    persons: Ints
    rows: Ints
    positions: Ints

    def same(self, other: RowAssignment) -> bool:
        """Whether the same people are at the same positions and in the same rows."""
        pairs = (self.persons, other.persons), (self.rows, other.rows), (self.positions, other.positions)
        return all(np.array_equal(*pair) for pair in pairs)

    def registered(self, many: int) -> npt.NDArray[np.bool_]:
        """Who of the first `many` people is registered (axes: person)."""
        found = np.zeros(many, bool)
        found[self.persons[(self.persons >= 0) & (self.persons < many)]] = True
        return found

    def places(self, cells: Ints, positions: int) -> Ints:
        """Cells of people (axes: person) put at their positions, -1 for an absent person (axes: position)."""
        placed = np.full(positions, -1, np.int64)
        known = (self.persons >= 0) & (self.persons < cells.size)
        placed[self.positions[known]] = cells[self.persons[known]]
        return placed

    def moves_since(self, before: RowAssignment) -> list[tuple[int, int]]:
        """Everybody whose row is another one than before, with the new row, -1 for none."""
        if self is before:
            return []
        old, new = (dict(zip(each.persons.tolist(), each.rows.tolist(), strict=True)) for each in (before, self))
        moved = [(person, row) for person, row in new.items() if old.get(person, -1) != row]
        return moved + [(person, -1) for person in old if person not in new]


NOBODY = RowAssignment(*(np.empty(0, np.int64) for _ in range(3)))
"""Nobody is registered."""


def assign_rows(users: Sequence[Hashable], rows: Ints, groups: Mapping[Hashable, int]) -> RowAssignment:
    """The assignment of a membership: its users, their rows, both by position, and the rows of its groups."""
    positions = np.flatnonzero(rows >= 0)
    everybody: Any = users
    persons = np.array(everybody, object)[positions].astype(np.int64) if positions.size else positions
    assigned = rows[positions]
    if GROUP in groups:
        persons, assigned = np.append(persons, -1), np.append(assigned, groups[GROUP])
        positions = np.append(positions, -1)
    return RowAssignment(persons, assigned, positions)


class CurrentAssignment:
    """The assignment of a membership as it is now, made anew whenever its rows have changed."""

    def __init__(self) -> None:
        # The rows it was made from, held so that no other array is taken for them, and the assignment.
        self._made: tuple[object, RowAssignment] | None = None

    def of(self, members: Membership) -> RowAssignment:
        """Who is in which row."""
        rows = members.rows()
        if self._made is None or self._made[0] is not rows:
            self._made = (rows, assign_rows(members.register.users, rows, members.groups))
        return self._made[1]


class KeptAssignments:
    """Who was in which row in each slot from `first - 1` on, by what the store keeps.

    Guarantees:
        `compare`, slot after slot, raises `CorruptState` in the first slot in which anybody is in another row.
    """

    def __init__(self, connection: Connection, stream: int, first: int) -> None:
        found = connection.execute(
            sa.select(row_assignments.c.from_slot, row_assignments.c.person, row_assignments.c.row)
            .where(row_assignments.c.stream == stream)
            .order_by(row_assignments.c.from_slot)
        ).all()
        table = np.array([tuple(row) for row in found], np.int64).reshape(-1, 3)
        self._rows = np.full(int(table[:, 1].max(initial=-1)) + 2, -1, np.int64)  # axes: person + 1
        self._moves: dict[int, Ints] = defaultdict(lambda: np.empty((0, 3), np.int64))
        slots, starts = np.unique(table[:, 0], return_index=True)
        for slot, start, end in zip(slots.tolist(), starts, [*starts[1:], len(table)], strict=False):
            if slot < first:
                self._move(table[start:end])
            else:
                self._moves[slot] = table[start:end]
        self._last: RowAssignment | None = None

    def compare(self, slot: int, assignment: RowAssignment) -> None:
        """Compare the assignment of a slot, after it began, with what was kept with its charge."""
        moves = self._moves[slot]
        self._move(moves)
        if assignment is self._last and not moves.size:
            return
        self._last = assignment
        rows = np.full(max(self._rows.size, int(assignment.persons.max(initial=-1)) + 2), -1, np.int64)
        rows[assignment.persons + 1] = assignment.rows
        if not np.array_equal(rows[: self._rows.size], self._rows) or (rows[self._rows.size :] >= 0).any():
            raise CorruptState(
                f"in slot {slot} people are not in the rows that the store says; its history is not whole, restore it"
            )

    def _move(self, moves: Ints) -> None:
        self._rows[moves[:, 1] + 1] = moves[:, 2]
