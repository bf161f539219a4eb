"""Says which person stands at which position and in which row of the ledger, now and by what the store keeps."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.budgets.membership import Membership
from wevent.errors import CorruptState, RowMismatch
from wevent.store.build import GROUP
from wevent.store.schema import row_assignments

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
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

    def same_positions(self, other: RowAssignment) -> bool:
        """Whether the same people stand at the same positions; their rows may differ."""
        return np.array_equal(self.positions, other.positions) and np.array_equal(self.persons, other.persons)

    def same(self, other: RowAssignment) -> bool:
        """Whether the same people stand at the same positions and in the same rows."""
        return self.same_positions(other) and np.array_equal(self.rows, other.rows)

    def registered(self, many: int) -> npt.NDArray[np.bool_]:
        """Who of the first `many` people is registered (axes: person)."""
        found = np.zeros(many, bool)
        found[self.persons[(self.persons >= 0) & (self.persons < many)]] = True
        return found

    def places(self, cells: Ints, positions: int) -> Ints:
        """Cells of people (axes: person) put at their positions, -1 where nobody is seen (axes: position)."""
        placed = np.full(positions, -1, np.int64)
        here = (self.persons >= 0) & (self.persons < cells.size)
        placed[self.positions[here]] = cells[self.persons[here]]
        return placed


NOBODY = RowAssignment(*(np.empty(0, np.int64) for _ in range(3)))
"""Nobody is registered."""


def assignment_of(members: Membership) -> RowAssignment:
    """Where everybody stands by the membership as it is now."""
    rows, users = members.rows(), members.register.users
    positions = np.flatnonzero(rows >= 0)
    everybody: Any = users
    persons = np.array(everybody, object)[positions].astype(np.int64) if positions.size else positions
    seated = rows[positions]
    if GROUP in members.groups:
        persons, seated = np.append(persons, -1), np.append(seated, members.groups[GROUP])
        positions = np.append(positions, -1)
    return RowAssignment(persons, seated, positions)


class CurrentAssignment:
    """Where everybody stands now, made anew whenever the rows are other ones, another publisher's included."""

    def __init__(self) -> None:
        self._made: tuple[object, RowAssignment] | None = (
            None  # the rows it was made from, held so that they stay themselves
        )

    def of(self, members: Membership) -> RowAssignment:
        """Where everybody stands."""
        rows = members.rows()
        if self._made is None or self._made[0] is not rows:
            self._made = (rows, assignment_of(members))
        return self._made[1]

    def checked(self, members: Membership, placed: RowAssignment | None) -> RowAssignment:
        """Where everybody stands, to be charged so.

        Guarantees:
            Anybody whose events were put (`placed`) at a position that is not theirs raises `RowMismatch`; so does a
            row that is not the one in which the membership has them, found out without anything that was made before.
            Where no events were put anywhere there is nothing to compare.
        """
        charged = self.of(members)
        if placed is None:
            return charged
        now = assignment_of(members)
        if not (now.same(charged) and now.same_positions(placed)):
            raise RowMismatch(
                f"in slot {members.ledger.slot} events were put into other rows than those that are charged for their "
                "people. Nothing was charged or released; open the stream anew, and report this",
                slot=members.ledger.slot,
            )
        return charged


class KeptAssignments:
    """Who sat in which row in each slot from `first - 1` on, by what the store keeps.

    Guarantees:
        `compare`, slot after slot, raises `CorruptState` in the first slot in which anybody sits in another row.
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

    def compare(self, slot: int, seating: RowAssignment) -> None:
        """Hold where everybody sits in a slot, after it began, against what was kept with its charge."""
        moves = self._moves[slot]
        self._move(moves)
        if seating is self._last and not moves.size:
            return
        self._last = seating
        now = np.full(max(self._rows.size, int(seating.persons.max(initial=-1)) + 2), -1, np.int64)
        now[seating.persons + 1] = seating.rows
        if not np.array_equal(now[: self._rows.size], self._rows) or (now[self._rows.size :] >= 0).any():
            raise CorruptState(
                f"in slot {slot} people do not sit where the store says; its history is not whole, restore it"
            )

    def _move(self, moves: Ints) -> None:
        self._rows[moves[:, 1] + 1] = moves[:, 2]
