"""Finds the declared cell of a place.

Cells are names from a list, or fields of a longitude and latitude grid over a declared box. A place outside is refused,
or counted in one declared cell for the rest. An event never adds a cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from wevent.errors import InvalidSetting
from wevent.events.names import to_name

MOST_CELLS = 1_000_000
"""The largest domain."""

NUMBER = r" *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})? *"
"""How a number is written, for Python and for DuckDB."""

UNKNOWN = -1
"""What `find` returns for a place outside the domain."""


class Cells(Protocol):
    """A domain."""

    @property
    def names(self) -> Sequence[str]:
        """Of all cells, in their order."""
        ...

    @property
    def other(self) -> int:
        """The index of the cell for the rest, -1 if there is none."""
        ...

    def find(self, place: tuple[str, ...]) -> int:
        """The index of a cell, or that of the rest, or -1; raises `ValueError` if it is no place at all."""
        ...


class NamedCells:
    """A list of names.

    Guarantees:
        `find` gives k exactly for the k-th name, and `other` for every other one; names are as in `to_name`.
    """

    def __init__(self, names: Sequence[str], other: str | None = None) -> None:
        self.names = [to_name(name) for name in names]
        other = None if other is None else to_name(other)
        if other is not None and other not in self.names:
            self.names.append(other)
        self._index = {name: k for k, name in enumerate(self.names)}
        _check(len(self.names), len(self._index))
        self.other = UNKNOWN if other is None else self._index[other]

    def find(self, place: tuple[str, ...]) -> int:
        """The index of a name."""
        return self._index.get(place[0], self.other)


@dataclass(frozen=True, slots=True)
class Box:
    """West, south, east and north edge in degrees; the east and north edges belong to the last column and row."""

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.west, self.south, self.east, self.north))):
            raise InvalidSetting("the edges of the grid must be finite numbers of degrees")
        if not (self.west < self.east and self.south < self.north):
            raise InvalidSetting("the grid's west must be less than its east, and its south less than its north")


class GridCells:
    """Columns from west to east by rows from south to north; cell `x-y` counts both from 0.

    Guarantees:
        Every point of the box lies in exactly one cell, every other point in none.
    """

    def __init__(self, box: Box, columns: int, rows: int, other: str | None = None) -> None:
        if columns < 1 or rows < 1:
            raise InvalidSetting("a grid has at least one column and one row")
        _check(columns * rows, columns * rows)
        self.box, self.across, self.up = box, columns, rows
        self.names = [f"{x}-{y}" for y in range(rows) for x in range(columns)]
        self.other = UNKNOWN
        if other is not None:
            if other in self.names:
                raise InvalidSetting("the cell for the rest needs a name that is no field of the grid")
            self.other = len(self.names)
            self.names.append(other)

    def find(self, place: tuple[str, ...]) -> int:
        """The index of the field that holds longitude and latitude."""
        if not all(_IS_NUMBER.fullmatch(text) for text in place):
            raise ValueError("not a number of degrees")
        longitude, latitude = float(place[0]), float(place[1])
        if not (math.isfinite(longitude) and math.isfinite(latitude)):
            raise ValueError("not a number of degrees")
        box = self.box
        if not (box.west <= longitude <= box.east and box.south <= latitude <= box.north):
            return self.other
        x = min(self.across - 1, int((longitude - box.west) / (box.east - box.west) * self.across))
        y = min(self.up - 1, int((latitude - box.south) / (box.north - box.south) * self.up))
        return y * self.across + x


_IS_NUMBER = re.compile(NUMBER)


def _check(listed: int, different: int) -> None:
    if not 1 <= listed <= MOST_CELLS or listed != different:
        raise InvalidSetting(
            f"cells must be 1 to {MOST_CELLS:,} different names, got {listed:,} of which {different:,} differ"
        )
