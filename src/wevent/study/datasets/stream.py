"""Defines what a data set is: options that open it, and a stream of who is where, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting

Places = npt.NDArray[np.integer[Any]]
"""The cell of each user in one slot, -1 where the user is absent (axes: user)."""

Presence = Literal["carry", "seen"]
"""A user without a record stays in the last known cell (before the first record: in the first one), or is absent."""


@dataclass(frozen=True, slots=True)
class DataOptions:
    """How a data set is opened.

    Attributes:
        slots: at most so many slots, from the first on; None for all.
        users: how many people a synthetic set has; None for its usual number. Recorded sets have whom they have.
        cells: how many cells, where a set can be cut finer or coarser; None for its usual number.
        presence: what a slot without a record of a user means. Carrying without limit and filling backwards
            exist in the study only, where the promise is about rows.
        folder: where downloaded files lie.
        slot_width: how long a slot lasts, such as "1h", for files of your own that have times instead of slots.

    Guarantees:
        A number that is not whole or below 1, and an unknown presence, raise `InvalidSetting`.
    """

    slots: int | None = None
    users: int | None = None
    cells: int | None = None
    presence: Presence = "carry"
    folder: Path = Path("data")
    slot_width: str | None = None

    def __post_init__(self) -> None:
        for name in ("slots", "users", "cells"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
                said = f"got {given!r}; leave it out for the usual"
                raise InvalidSetting(f"{name} must be a whole number from 1 on, {said}")
        if self.presence not in (known := get_args(Presence)):
            raise InvalidSetting(f"presence must be one of {', '.join(known)}, got {self.presence!r}", known=known)


class DataStream(Protocol):
    """A data set that has been opened."""

    @property
    def name(self) -> str:
        """Of the data set."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the cells, in the order of their indices."""

    @property
    def users(self) -> int:
        """How many people there are."""

    @property
    def slots(self) -> int:
        """How many slots there are."""

    @property
    def complete(self) -> bool:
        """Whether everybody is in some cell in every slot."""

    @property
    def plane(self) -> tuple[int, int] | None:
        """For grids, (rows, columns) of the cells; None elsewhere."""

    def places(self, seed: int) -> Iterator[Places]:
        """Slot after slot where everybody is; a recorded set is the same for every seed."""


Opener = Callable[[DataOptions], DataStream]
"""Opens a data set; raises `MissingData` if its files are not there."""


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """A stream of records that fit into memory in compact form: for each user the slots and cells of the records.

    Attributes:
        start: where each user's records begin, one more at the end (axes: user + 1).
        slot: the slot of each record, from 0 on, ascending within a user, at most one per slot (axes: record).
        cell: its cell (axes: record).
        people: names of the users, in the order of their indices; empty if they have none.
        dropped: reason → how many lines or records of the files were left out.
    """

    name: str
    cells: tuple[str, ...]
    users: int
    slots: int
    presence: Presence
    start: npt.NDArray[np.int64] = field(repr=False)
    slot: npt.NDArray[np.int64] = field(repr=False)
    cell: npt.NDArray[np.int64] = field(repr=False)
    plane: tuple[int, int] | None = None
    people: tuple[str, ...] = field(default=(), repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def complete(self) -> bool:
        """Whether everybody is in some cell in every slot: so it is where people are carried on."""
        return self.presence == "carry" and bool((np.diff(self.start) > 0).all())

    def places(self, seed: int) -> Iterator[Places]:
        """Slot after slot where everybody is."""
        order = np.argsort(self.slot, kind="stable")
        user = np.repeat(np.arange(self.users), np.diff(self.start))[order]
        cell = self.cell[order]
        ends = np.searchsorted(self.slot[order], np.arange(self.slots), side="right")
        places = np.full(self.users, -1, np.int64)
        if self.presence == "carry":
            present = np.diff(self.start) > 0
            places[present] = self.cell[self.start[:-1][present]]
        first = 0
        for end in ends.tolist():
            places = np.full(self.users, -1, np.int64) if self.presence == "seen" else places.copy()
            places[user[first:end]] = cell[first:end]
            first = end
            yield places
