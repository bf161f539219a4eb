"""Holds one slot of the stream, as places per person or counts per row, not yet checked against a register."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidInput, TooManyCells, WrongShape
from wevent.events.frames import DataFrame, read_column

Places = Mapping[Any, Any] | npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Slot:
    """The rows of one slot: private data, so its repr shows the number alone.

    Attributes:
        number: 1, 2, 3, … without gaps.
        places: a mapping user → cell (or → a tuple of cells where the settings allow several), or an
            integer array aligned with the register holding cell indices, -1 for absent (two
            dimensions where the settings allow several cells). `None` is an empty slot.
        groups: for rows that stand for a group: name → whole counts per cell. Count nobody there who is registered, or
            who left and whose windows are still alive: the group's row knows nothing of what they spent, so their
            windows would hold more than their budget. `Register.unknown` says who may be counted.
        unlisted: the same for people who come without being declared: a slot is never refused because they are many,
            since that would reveal them. Each cell is cut to the group's declared size instead, which moves by at most
            what they move.
        counts: instead of `places` and `groups`, whole counts of shape (row, cell).
    """

    number: int
    places: Places | None = field(default=None, repr=False)
    groups: Mapping[Any, npt.ArrayLike] | None = field(default=None, repr=False)
    counts: npt.NDArray[np.integer[Any]] | None = field(default=None, repr=False)
    unlisted: Mapping[Any, npt.ArrayLike] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int | np.integer) or self.number < 1:
            raise InvalidInput("a slot's number is a whole number from 1 on")
        if self.counts is not None and not (self.places is self.groups is self.unlisted is None):
            raise WrongShape(f"slot {self.number} gives both counts per row and single places; give one of them")

    @classmethod
    def from_pairs(cls, number: int, pairs: Iterable[tuple[Hashable, Hashable]], contributions: int = 1) -> Slot:
        """Collect (user, cell) pairs; more than `contributions` cells of one user are refused."""
        places: dict[Hashable, Any] = {}
        for user, cell in pairs:
            cells = (*places.get(user, ()), cell)
            if len(cells) > contributions:
                raise TooManyCells(
                    f"slot {number} has a user in more than {contributions} cell(s); "
                    "bound each user first (first, last or most frequent), or declare more contributions",
                    slot=number,
                    limit=contributions,
                )
            places[user] = cells
        return cls(number, places)

    @classmethod
    def from_frame(
        cls, number: int, frame: DataFrame, user: str = "user", cell: str = "cell", contributions: int = 1
    ) -> Slot:
        """Read a pandas or polars DataFrame with a row for each person who is present.

        Args:
            number: of the slot.
            frame: people and cells; absent people have no row.
            user: the name of the column of users.
            cell: the name of the column of cells.
            contributions: how many rows one user may have.

        Guarantees:
            A missing column or value raises `InvalidInput`, and too many rows of one user `TooManyCells`; no message
            names a user or a cell.
        """
        return cls.from_pairs(
            number, zip(read_column(frame, user), read_column(frame, cell), strict=True), contributions
        )
