"""Holds who is registered, at which position and in which row.

Integer slots are aligned with positions. A position is stable: another person gets it only after its former owner was
forgotten. The ledger's history decides which row a person may share (`budgets.placement`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wevent.errors import AlreadyRegistered, CorruptState, InvalidInput, UnknownUser

NOBODY = -1
"""The row of a position whose owner has left."""

_NAMES = (str, int, type(None))
"""Kinds of users that can be kept; None for a free position."""


class Positions:
    """People with their positions and rows.

    Guarantees:
        A user keeps their position until they leave and are forgotten.
        No error and no repr names a user.
    """

    def __init__(self) -> None:
        self._users: list[Hashable] | range = range(0)  # the owner of each position, None for free ones
        self._position: dict[Hashable, int] | None = None  # of each user; made when first needed, then kept up to date
        self._rows = np.empty(0, np.int64)  # the row of each position, longer than the users to make place for more
        self._free: list[int] = []  # positions whose owners were forgotten; the last one is used first
        self._departed: dict[Hashable, int] = {}  # positions of people who left and are not forgotten
        self.changes = object()  # another one after every change, so that no two registers are taken for one

    def __len__(self) -> int:
        """Positions in an aligned array, those of people who left included."""
        return len(self._users)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(positions={len(self)})"

    def __contains__(self, user: Hashable) -> bool:
        place = self._find(user)
        return place is not None and self._rows[place] != NOBODY

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The row of each position, -1 where the owner has left (axes: position)."""
        return self._rows[: len(self._users)]

    @property
    def vacant(self) -> bool:
        """Whether any position has no owner."""
        return bool(self._departed or self._free)

    @property
    def users(self) -> Sequence[Hashable]:
        """The owner of each position, in the order of aligned arrays."""
        return self._users

    def _fill(self, users: Sequence[Hashable] | None, rows: npt.NDArray[np.int64]) -> None:
        if users is None:
            self._users = range(rows.size)
        else:
            self._users = np.asarray(users).tolist() if hasattr(users, "dtype") else list(users)
            self._position = {user: place for place, user in enumerate(self._users)}
            if len(self._position) != rows.size:
                raise AlreadyRegistered("the list of users has a name twice, or is not as long as their requirements")
        self._rows = rows
        self.changes = object()

    def copy(self) -> Self:
        """Independent positions of the same people."""
        twin = type(self)()
        twin._users = self._users if isinstance(self._users, range) else list(self._users)
        twin._position = None if self._position is None else dict(self._position)
        twin._rows, twin._free, twin._departed = self._rows.copy(), list(self._free), dict(self._departed)
        return twin

    def place_all(self, place: npt.NDArray[np.int64]) -> None:
        """Renumber all rows: `place` holds the new number of each (axes: row)."""
        self._rows = place[self._rows] if self._rows.size else self._rows
        self.changes = object()

    def add(self, user: Hashable, row: int) -> int:
        """Register one more user, or one who returns, and return the position."""
        place = self._find(user)
        if place is not None and self._rows[place] != NOBODY:
            raise AlreadyRegistered("this user is registered already; change the requirement instead")
        users = self._listed()
        if place is None and self._free:
            place = self._free.pop()
            users[place] = user
        elif place is None:
            place = len(users)
            users.append(user)
            if place == self._rows.size:
                self._rows = np.concatenate([self._rows, np.full(max(16, place), NOBODY)])
        self._index()[user] = place
        self._departed.pop(user, None)
        self._rows[place] = row
        self.changes = object()
        return place

    def move(self, user: Hashable, row: int) -> None:
        """Put a registered user into another row."""
        self._rows[self.position(user)] = row
        self.changes = object()

    def row(self, user: Hashable) -> int:
        """The row of a registered user."""
        return int(self._rows[self.position(user)])

    def move_rows(self, target: Mapping[int, int]) -> None:
        """Put everybody who is in one of these rows into another one, which is in none of them."""
        if target:
            sources = np.array(sorted(target), np.int64)
            found = np.flatnonzero(np.isin(self.rows, sources))
            into = np.array([target[row] for row in sources.tolist()], np.int64)
            self._rows[found] = into[np.searchsorted(sources, self._rows[found])]
            self.changes = object()

    def remove(self, user: Hashable) -> None:
        """End a registration; the position stays reserved until `forget`."""
        place = self.position(user)
        self._rows[place] = NOBODY
        self._departed[user] = place
        self.changes = object()

    def forget(self, user: Hashable) -> None:
        """Free the position of a user who left for another one."""
        place = self._departed.pop(user)
        self._index().pop(user)
        self._listed()[place] = None
        self._free.append(place)

    def position(self, user: Hashable) -> int:
        """Where a registered user stands in aligned arrays."""
        place = self._find(user)
        if place is None or self._rows[place] == NOBODY:
            raise UnknownUser("this user is not registered; let them join first")
        return place

    def positions(self, users: Iterable[Hashable], slot: int) -> npt.NDArray[np.int64]:
        """Where these users stand; one who is not registered is refused without being named."""
        if isinstance(self._users, range):
            wanted = _whole(users)
            known = wanted is not None and bool(((wanted >= 0) & (wanted < len(self._users))).all())
            found = wanted if known and wanted is not None else np.full(1, -1)
        else:
            index = self._index()
            found = np.fromiter((index.get(user, -1) for user in users), np.int64)
        if found.size and (found < 0).any():
            raise UnknownUser(
                f"slot {slot} has a person who is not registered; let them join before the slot, or count them "
                "into a declared group (Register.unknown lists them). Nothing was spent.",
                slot=slot,
            )
        if found.size and (self._rows[found] == NOBODY).any():
            raise UnknownUser(
                f"slot {slot} has a person who has left; leave them out, or let them join again before the slot. They "
                "must not be counted into a group while their windows are alive. Nothing was spent.",
                slot=slot,
            )
        return found

    def unknown(self, users: Iterable[Hashable]) -> list[Hashable]:
        """Those of `users` who are not registered and may be counted into a declared group; for the operator's eyes.

        People who left are left out until their windows have closed: a group's row knows nothing of what they spent.
        """
        return [user for user in users if self._find(user) is None]

    def state(self) -> dict[str, Any]:
        """Positions, users and rows as plain values; users must be named by strings or whole numbers."""
        users = self._users
        numbered = isinstance(users, range)
        if not numbered and not all(isinstance(user, _NAMES) and not isinstance(user, bool) for user in users):
            raise InvalidInput("only users named by a string or a whole number can be kept; name them so")
        return {
            "users": len(users) if numbered else list(users),
            "rows": self.rows.copy(),
            "free": list(self._free),
            "departed": [list(pair) for pair in self._departed.items()],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The same people and rows again."""
        register, users = cls(), state["users"]
        register._users = range(users) if isinstance(users, int) else users
        register._rows, register._free, register._departed = state["rows"], state["free"], dict(state["departed"])
        if register._rows.size != len(register._users):
            raise CorruptState("the kept register has more or fewer rows than people; restore it from a whole copy")
        if not isinstance(users, int):
            register._position = {user: place for place, user in enumerate(users) if user is not None}
        return register

    def _find(self, user: Hashable) -> int | None:
        if isinstance(self._users, range) and isinstance(user, int | np.integer):
            return int(user) if 0 <= int(user) < len(self._users) else None
        return self._index().get(user)  # names that are equal, as 1 and 1.0 are, are one person

    def _listed(self) -> list[Any]:
        if isinstance(self._users, range):
            self._users = list(self._users)
        return self._users

    def _index(self) -> dict[Hashable, int]:
        if self._position is None:
            self._position = {user: place for place, user in enumerate(self._users)}
        return self._position  # from here on kept up to date


def _whole(users: Iterable[Hashable]) -> npt.NDArray[np.int64] | None:
    """Users as an integer array, or nothing where one of them is no whole number."""
    listed = list(users)
    if not all(isinstance(user, int | np.integer) and not isinstance(user, bool) for user in listed):
        return None
    return np.array(listed, np.int64) if listed else np.empty(0, np.int64)
