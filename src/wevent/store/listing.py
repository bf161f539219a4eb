"""Decides who counts as listed in a slot that is being closed.

Somebody counts as listed from the first slot in which a requirement change of theirs took effect, whether it could be
met or not, and for ever: who left, or was refused, counts nowhere, never among the unlisted people. Before that slot
they are unlisted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from wevent.events.gathering import Listing
from wevent.store.schema import requirement_changes


class Listings:
    """The listing of each slot of a stream, one slot after the other.

    Guarantees:
        A requirement change with a number above `heard` lists nobody: it takes effect in a later slot.
    """

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._until = 0  # changes that took effect up to this slot are in `_listed`
        self._listed = np.zeros(0, bool)  # axes: person

    def at(self, connection: Connection, slot: int, heard: int, people: Mapping[str, int]) -> Listing:
        """Who counts as listed in a slot, by the requirement changes up to number `heard`."""
        changes = sa.select(requirement_changes.c.person).where(
            requirement_changes.c.stream == self._stream,
            requirement_changes.c.from_slot > self._until,
            requirement_changes.c.from_slot <= slot,
            requirement_changes.c.number <= heard,
        )
        new = np.array(connection.execute(changes.distinct()).all(), np.int64).ravel()
        listed = np.zeros(max(len(people), self._listed.size, int(new.max(initial=-1)) + 1), bool)
        listed[: self._listed.size] = self._listed
        listed[new] = True
        self._listed, self._until = listed, slot
        return Listing(people, listed)
