"""Carries people for some slots in the cell where they were last seen.

With the presence `seen` people count in the slots of their events alone. With `carry` they stay where they were last
seen for at most `age` slots, that of the event included (SPEC §1). So the events of one slot move up to `age` rows of
a person, which is why windows are widened and neighbours are by substitution.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.errors import CorruptState, InvalidSetting

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Carry:
    """Where each person was last seen, and when.

    Guarantees:
        A person's row depends on that person's cells and on slots alone.
        An event in slot t moves no row outside t … t + age - 1.
    """

    def __init__(self, age: int) -> None:
        if age < 1:
            raise InvalidSetting(f"people are carried for at least 1 slot, got {age}")
        self.age = age
        self._cell = np.empty(0, np.int64)  # where each person was last seen, -1 if that is over (axes: person)
        self._slot = np.empty(0, np.int64)  # and when; both are wiped as soon as the next slot does not need them

    def cells(self, slot: int, seen: Ints, registered: Bools | None = None) -> Ints:
        """Take in what was seen in a slot and give the cell of each person.

        Args:
            slot: its number.
            seen: the cell of each person, -1 for a person without events (axes: person).
            registered: whose events count in this slot; without it those of all (axes: person).

        Returns:
            The cell of each person, -1 for an absent one (axes: person).

        Guarantees:
            As soon as a person's carry ends, by age or because they left, where and when they were seen is wiped.
        """
        more = np.full(max(0, seen.size - self._cell.size), -1, np.int64)
        self._cell, self._slot = np.concatenate([self._cell, more]), np.concatenate([self._slot, more])
        present = seen >= 0
        self._cell[: seen.size][present] = seen[present]
        self._slot[: seen.size][present] = slot
        gone = np.zeros(self._cell.size, bool)
        if registered is not None:
            gone[: registered.size] = ~registered[: gone.size]
            gone[registered.size :] = True
        self._wipe(gone | (slot - self._slot >= self.age))
        rows = self._cell[: seen.size].copy()
        self._wipe(slot + 1 - self._slot >= self.age)  # not needed in the next slot, so not kept until then
        return rows

    def _wipe(self, chosen: Bools) -> None:
        self._cell[chosen] = self._slot[chosen] = -1

    def state(self) -> Ints:
        """Cells and slots, one after the other, for `restore`."""
        return np.concatenate([self._cell, self._slot])

    def restore(self, state: Ints) -> None:
        """Go on from what `state` gave."""
        if state.size % 2:
            raise CorruptState("the carried cells have an odd length; restore the store from a whole copy")
        self._cell, self._slot = (part.copy() for part in np.split(state, 2))
