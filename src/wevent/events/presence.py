"""Whether somebody is still there: the cells of a slot's events come in, the rows of the slot go out.

`seen` counts people in the slots of their events alone. `carry` leaves them where they were last seen, in at most
`age` slots, that of the event included (SPEC §1): so one slot of somebody's events moves up to `age` rows, which is
why windows are widened and neighbours are by substitution.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.errors import CorruptState, InvalidSetting

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Carry:
    """Where everybody was last seen, and when.

    Guarantees:
        A person's row depends on that person's cells and on slots alone.
        An event in slot t moves no row outside t … t + age - 1.
    """

    def __init__(self, age: int) -> None:
        if age < 1:
            raise InvalidSetting(f"people are carried for at least 1 slot, got {age}")
        self.age = age
        self._cell = np.empty(0, np.int64)
        self._slot = np.empty(0, np.int64)

    def rows(self, slot: int, seen: Ints, registered: Bools | None = None) -> Ints:
        """Take a slot's cells and give everybody's row.

        Args:
            slot: its number.
            seen: everybody's cell, -1 for who was not seen (axes: person).
            registered: whose events count in this slot; without it everybody's (axes: person).

        Returns:
            Everybody's cell, -1 for nobody (axes: person).

        Guarantees:
            As soon as somebody's carry ends, by age or because they left, where and when they were seen is wiped.
        """
        more = np.full(max(0, seen.size - self._cell.size), -1, np.int64)
        self._cell, self._slot = np.concatenate([self._cell, more]), np.concatenate([self._slot, more])
        there = seen >= 0
        self._cell[: seen.size][there] = seen[there]
        self._slot[: seen.size][there] = slot
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
        """Cells and slots, one after the other, for `take`."""
        return np.concatenate([self._cell, self._slot])

    def take(self, state: Ints) -> None:
        """Go on from what `state` gave."""
        if state.size % 2:
            raise CorruptState("what was carried has an odd length; restore the store from a whole copy")
        self._cell, self._slot = (part.copy() for part in np.split(state, 2))
