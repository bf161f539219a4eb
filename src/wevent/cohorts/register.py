"""Holds who is registered, at which position and in which row.

The register knows people, not budgets: the ledger's history decides which row a person may share (`budgets.placement`).
Integer slots are aligned with positions. A position is stable: another person gets it only after its former owner was
forgotten.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.cohorts.frames import people_of_frame
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.errors import (
    AlreadyRegistered,
    CorruptState,
    InvalidInput,
    InvalidRequirement,
    UnknownUser,
    WrongShape,
)
from wevent.events.frames import DataFrame
from wevent.units import to_units_array, to_window

NOBODY = -1
"""The row of a position whose owner has left."""

_NAMES = (str, int, type(None))
"""Kinds of users that can be kept; None for a free position."""


class Register:
    """Positions, users, rows and what the first rows require.

    Users of one fixed requirement share a row; a person with a dynamic requirement has a row of their own;
    a group is one row of declared size.

    Guarantees:
        A user keeps their position until they leave and are forgotten.
        No error and no repr names a user.

    Attributes:
        table: the different requirements at the start.
        required: for each row, the index of its requirement in the table (axes: row).
        sizes: for each row, how many people it stands for at the start (axes: row).
        groups: the rows that stand for declared groups, by name.
    """

    def __init__(self) -> None:
        self._users: list[Hashable] | range = range(0)  # the owner of each position, None for free ones
        self._position: dict[Hashable, int] | None = None  # of each user; made when first needed, then kept up to date
        self._rows = np.empty(0, np.int64)  # the row of each position, longer than the users to make place for more
        self._free: list[int] = []  # positions whose owners were forgotten; the last one is used first
        self._departed: dict[Hashable, int] = {}  # positions of people who left and are not forgotten
        self.changes = object()  # another one after every change, so that no two registers are taken for one
        self.table: list[Requirement] = []
        self.required = np.empty(0, np.int64)
        self.sizes = np.empty(0, np.int64)
        self.groups: dict[Hashable, int] = {}

    @classmethod
    def from_rows(cls, people: Mapping[Any, Requirement] | Iterable[tuple[Hashable, Requirement]]) -> Register:
        """Register people one by one: a mapping user → requirement, or pairs."""
        pairs = list(people.items() if isinstance(people, Mapping) else people)
        table: dict[Requirement, int] = {}
        choice = np.empty(len(pairs), np.int64)
        for place, (_, requirement) in enumerate(pairs):
            if not isinstance(requirement, Fixed | Dynamic):
                raise InvalidRequirement("a requirement is Fixed(epsilon, window) or Dynamic(forward, backward)")
            choice[place] = table.setdefault(requirement, len(table))
        return cls.from_levels(list(table), choice, users=[user for user, _ in pairs])

    @classmethod
    def from_frame(
        cls,
        frame: DataFrame,
        user: str = "user",
        epsilon: str = "epsilon",
        window: str = "window",
        backward_epsilon: str | None = None,
        backward_window: str | None = None,
    ) -> Register:
        """Register the people of a pandas or polars DataFrame, one row each, by the names of its columns.

        A row is dynamic if it has values in both backward columns, and fixed if it has none there.

        Guarantees:
            The same rows as `from_rows` gives for the same people.
            A missing column or value raises `InvalidInput`, which names the column and no user.
        """
        return cls.from_rows(people_of_frame(frame, user, epsilon, window, backward_epsilon, backward_window))

    @classmethod
    def from_arrays(
        cls, epsilon: npt.ArrayLike, window: npt.ArrayLike, users: Sequence[Hashable] | None = None
    ) -> Register:
        """Register people with fixed requirements from two arrays of equal length, without a loop over them.

        Guarantees:
            The same rows as `from_rows` gives for the same people.
        """
        units, windows = to_units_array(epsilon), np.asarray(window).ravel()
        if units.size != windows.size:
            raise WrongShape(
                f"epsilon has {units.size} elements and window has {windows.size}; give one of each per user"
            )
        if windows.dtype.kind not in "iuf":
            raise InvalidRequirement(f"window must be an array of whole numbers, got dtype {windows.dtype}")
        lengths, which = np.unique(windows, return_inverse=True)
        for length in lengths:
            to_window(length)
        pairs = units * len(lengths) + which
        different, choice = np.unique(pairs, return_inverse=True)
        table: list[Requirement] = [
            Fixed(f"{unit}e-9", int(lengths[k]))
            for unit, k in zip(different // len(lengths), different % len(lengths), strict=True)
        ]
        return cls.from_levels(table, choice, users=users)

    @classmethod
    def from_levels(
        cls, table: Sequence[Requirement], choice: npt.ArrayLike, users: Sequence[Hashable] | None = None
    ) -> Register:
        """Register people by the index of their requirement in a table of different requirements."""
        picked = np.asarray(choice)
        if picked.ndim != 1 or (picked.size and picked.dtype.kind not in "iu"):
            raise WrongShape("choice must be a one-dimensional array of indices into the table of requirements")
        picked = picked.astype(np.int64)
        if picked.size and (picked.min() < 0 or picked.max() >= len(table)):
            raise WrongShape(f"choice must point into the table of {len(table)} requirements")
        same: dict[Requirement, int] = {}
        for place, requirement in enumerate(table):
            if not isinstance(requirement, Fixed | Dynamic):
                raise InvalidRequirement("a requirement is Fixed(epsilon, window) or Dynamic(forward, backward)")
            same.setdefault(requirement, place)
        if picked.size and len(same) < len(table):  # equal requirements share a row
            picked = np.array([same[requirement] for requirement in table], np.int64)[picked]
        register = cls()
        moving = np.array([isinstance(requirement, Dynamic) for requirement in table], bool)
        own = moving[picked] if picked.size else np.empty(0, bool)
        shared, row_of_shared = np.unique(picked[~own], return_inverse=True)
        rows = np.empty(picked.size, np.int64)
        rows[~own] = row_of_shared
        rows[own] = shared.size + np.arange(int(own.sum()))
        register.table = list(table)
        register.required = np.concatenate([shared, picked[own]])
        register.sizes = np.bincount(rows, minlength=register.required.size).astype(np.int64)
        register._fill(users, rows)
        return register

    def with_group(self, name: Hashable, requirement: Requirement, size: int) -> Register:
        """Add a row that stands for `size` people who always require the same; return this register."""
        if name in self.groups or name in self:
            raise AlreadyRegistered("a group or a user of this name is registered already")
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise WrongShape("the size of a group is a whole number of people from 1 on")
        self.groups[name] = self.required.size
        self.required = np.append(self.required, len(self.table))
        self.sizes = np.append(self.sizes, int(size))
        self.table.append(requirement)
        return self

    def __len__(self) -> int:
        """Positions in an aligned array, those of people who left included."""
        return len(self._users)

    def __repr__(self) -> str:
        return f"Register(positions={len(self)})"

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

    def copy(self) -> Register:
        """An independent register of the same people."""
        twin = Register()
        twin._users = self._users if isinstance(self._users, range) else list(self._users)
        twin._position = None if self._position is None else dict(self._position)
        twin._rows, twin._free, twin._departed = self._rows.copy(), list(self._free), dict(self._departed)
        twin.table, twin.required, twin.sizes = list(self.table), self.required.copy(), self.sizes.copy()
        twin.groups = dict(self.groups)
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
    def from_state(cls, state: dict[str, Any]) -> Register:
        """The same people and rows again; what was required at the start is not kept."""
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
