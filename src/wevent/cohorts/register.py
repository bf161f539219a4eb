"""Registers people with their requirements before the first slot.

A register knows people, not budgets. What it declares is the state before slot 1; later changes concern its positions
(`cohorts.positions`) and the rows of a ledger (`budgets.membership`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from wevent.cohorts.frames import people_of_frame
from wevent.cohorts.positions import Positions
from wevent.cohorts.requirement import Dynamic, Fixed, Requirement
from wevent.errors import AlreadyRegistered, InvalidRequirement, WrongShape
from wevent.events.frames import DataFrame
from wevent.units import to_units_array, to_window


class Register(Positions):
    """People, their positions and rows, and what the first rows require.

    Users of one fixed requirement share a row; a person with a dynamic requirement has a row of their own;
    a group is one row of declared size. `from_rows`, `from_frame`, `from_arrays` and `from_levels` make one.

    Guarantees:
        A user keeps their position until they leave and are forgotten.
        No error and no repr names a user.

    Attributes:
        table: the different requirements at the start.
        required: for each row, the index of its requirement in the table (axes: row).
        sizes: for each row, how many people it stands for at the start (axes: row).
        groups: the rows that stand for declared groups, by name.

    Example:
        >>> from wevent import Fixed, Register
        >>> register = Register.from_rows({"ann": Fixed(epsilon=0.5, window=8), "bob": Fixed(1, 4)})
        >>> register.with_group("visitors", Fixed(0.1, 8), size=200)
        Register(positions=2)
        >>> "ann" in register, register.unknown(["bob", "zoe"])
        (True, ['zoe'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.table: list[Requirement] = []
        self.required = np.empty(0, np.int64)
        self.sizes = np.empty(0, np.int64)
        self.groups: dict[Hashable, int] = {}

    @classmethod
    def from_rows(cls, people: Mapping[Any, Requirement] | Iterable[tuple[Hashable, Requirement]]) -> Register:
        """Register people one by one.

        Args:
            people: a mapping user → requirement, or pairs; a user is any hashable name.

        Guarantees:
            A user who is named twice raises `AlreadyRegistered`.
        """
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

        Args:
            frame: the people.
            user: the column of users.
            epsilon: the column of budgets; of dynamic requirements the forward side.
            window: the column of windows, in slots; likewise.
            backward_epsilon: the column of backward budgets. A row with values in both backward columns is dynamic, one
                with none there is fixed.
            backward_window: the column of backward windows.

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

        Args:
            epsilon: of each person (axes: person).
            window: of each person, in slots (axes: person).
            users: their names; without them people are numbered from 0.

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
        """Register people by the index of their requirement in a table.

        Args:
            table: requirements, fixed or dynamic.
            choice: an index into the table for each person (axes: person).
            users: their names; without them people are numbered from 0.
        """
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
        """Add a row that stands for many people who always require the same; return this register.

        A person must be counted in the same group in all slots: what they spend in one is not known to another.

        Args:
            name: of the group, by which a slot gives its counts.
            requirement: of each of them.
            size: how many people it stands for at most.
        """
        if name in self.groups or name in self:
            raise AlreadyRegistered("a group or a user of this name is registered already")
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise WrongShape("the size of a group is a whole number of people from 1 on")
        self.groups[name] = self.required.size
        self.required = np.append(self.required, len(self.table))
        self.sizes = np.append(self.sizes, int(size))
        self.table.append(requirement)
        return self

    def copy(self) -> Self:
        """An independent register of the same people."""
        twin = super().copy()
        twin.table, twin.required, twin.sizes = list(self.table), self.required.copy(), self.sizes.copy()
        twin.groups = dict(self.groups)
        return twin
