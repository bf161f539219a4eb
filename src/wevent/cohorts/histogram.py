"""Checks a slot against register and domain, and counts its people by cell.

Counting is lazy: one pass counts all people; people of chosen rows are counted apart only when a threshold says that
they must be sampled.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import CellIndices, Counts, count_cells
from wevent.cohorts.index import RowIndex, RowNumbers
from wevent.cohorts.register import Register
from wevent.errors import InvalidSetting, TooManyCells, UnknownCell, UnknownUser, WrongShape
from wevent.events.slot import Slot
from wevent.settings import has_numba


class Domain:
    """The public cells: names, or just how many there are."""

    def __init__(self, cells: int | Sequence[Hashable]) -> None:
        if isinstance(cells, bool) or (isinstance(cells, int) and cells < 1):
            raise InvalidSetting("cells must be a number from 1 on, or a list of different names")
        self.names: Sequence[Hashable] = range(cells) if isinstance(cells, int) else list(cells)
        self._index = {} if isinstance(cells, int) else {name: k for k, name in enumerate(self.names)}
        if not isinstance(cells, int) and (len(self._index) != len(self.names) or not self.names):
            raise InvalidSetting("cells must be a number from 1 on, or a list of different names")

    def __len__(self) -> int:
        return len(self.names)

    def find(self, cell: Hashable) -> int:
        """The index of a cell, -1 if there is none."""
        if self._index:
            try:
                return self._index.get(cell, -1)
            except TypeError:  # not hashable, so no name of a cell
                return -1
        index = isinstance(cell, int | np.integer) and not isinstance(cell, bool)
        return int(cell) if index and 0 <= int(cell) < len(self.names) else -1  # type: ignore[call-overload]


class Tally(Protocol):
    """The counts of one slot, read when they are needed."""

    def total(self) -> Counts:
        """All people (axes: cell)."""
        ...

    def by_group(self, group: RowNumbers, groups: int) -> Counts:
        """People of the rows with `group` >= 0 (axes of `group`: row; of the result: group, cell)."""
        ...

    def singly(self, group: RowNumbers) -> tuple[RowNumbers, RowNumbers] | None:
        """Group and cell of each present person of those rows, one by one; None if only counts are known."""
        ...


class PersonTally:
    """Counts of people given one by one: rows and cells of equal shape, cell -1 for absent."""

    def __init__(
        self,
        rows: RowNumbers,
        cells: CellIndices,
        extra: Mapping[int, Counts],
        total: Counts,
        index: RowIndex | None = None,
        fast: bool = False,
    ) -> None:
        self._rows, self._cells, self._extra = rows, cells, extra
        self._index = index or RowIndex(rows)
        self._fast = fast
        self._total = total + sum(extra.values())

    def total(self) -> Counts:
        """All people."""
        return self._total

    def by_group(self, group: RowNumbers, groups: int) -> Counts:
        """People of chosen rows."""
        domain = self._total.size
        if self._fast and self._cells.ndim == 1:
            from wevent.cohorts.fast import count_groups

            counts = count_groups(self._rows, self._cells, group, groups, domain)
        else:
            which, cells = self._people(group)
            counts = np.bincount(which * domain + cells, minlength=groups * domain).reshape(groups, domain)
        for row, extra in self._extra.items():
            if group[row] >= 0:
                counts[group[row]] += extra
        return counts

    def singly(self, group: RowNumbers) -> tuple[RowNumbers, RowNumbers] | None:
        """People of chosen rows, one by one."""
        if any(group[row] >= 0 for row in self._extra):
            return None
        return self._people(group)

    def _people(self, group: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
        positions, which = self._index.people(group)
        cells = self._cells[positions]
        if cells.ndim == 2:
            which = np.broadcast_to(which[:, None], cells.shape)
        present = cells >= 0
        return which[present], cells[present].astype(np.int64)


class RowTally:
    """Counts that were given per row and cell."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def total(self) -> Counts:
        """All people."""
        return self._counts.sum(axis=0)

    def by_group(self, group: RowNumbers, groups: int) -> Counts:
        """People of chosen rows."""
        result = np.zeros((groups, self._counts.shape[1]), np.int64)
        chosen = group >= 0
        np.add.at(result, group[chosen], self._counts[chosen])
        return result

    def singly(self, group: RowNumbers) -> None:
        """None: counts per row do not say who is where."""


class SlotReader:
    """Turns slots into tallies; refuses a slot that does not fit, before anything is spent.

    Guarantees:
        At most `contributions` cells are counted for one user and slot; more are refused.
        A user who is not registered and a cell outside the domain are refused, and no message names them.
    """

    def __init__(self, domain: Domain, contributions: int, *, fast: bool | None = None) -> None:
        self._domain, self._contributions = domain, contributions
        self._index: RowIndex | None = None
        self._count = count_cells
        self._fast = has_numba() if fast is None else fast
        if self._fast:
            from wevent.cohorts.fast import count_cells as count_fast

            self._count = count_fast

    def read(
        self,
        slot: Slot,
        register: Register,
        rows: RowNumbers,
        groups: Mapping[Hashable, int],
        sizes: npt.NDArray[np.int64],
    ) -> Tally:
        """Check one slot and make it countable; `rows` holds the ledger row of each position."""
        if slot.counts is not None:
            return RowTally(self._row_counts(slot, sizes))
        extra = self._group_counts(slot, groups, sizes)
        if slot.places is None:
            nobody = np.empty(0, np.int64)
            return PersonTally(nobody, nobody, extra, np.zeros(len(self._domain), np.int64))
        if isinstance(slot.places, Mapping):
            rows, cells = self._listed(slot, slot.places, register, rows)
            index = RowIndex(rows)
        else:
            index = self._indexed(rows)
            cells = self._aligned(slot, np.asarray(slot.places), rows, register.vacant)
        total = self._count(cells.ravel(), len(self._domain))
        if total is None:
            raise _unknown_cell(slot, len(self._domain))
        return PersonTally(rows, cells, extra, total, index, self._fast)

    def prepare(self, rows: RowNumbers, many: int) -> None:
        """Sort people by row in advance, so that the first slot need not wait for it."""
        self._indexed(rows).prepare(many)

    def _indexed(self, rows: RowNumbers) -> RowIndex:
        """The index of these rows, kept while they stay the same."""
        if self._index is None or self._index.rows is not rows:
            self._index = RowIndex(rows)
        return self._index

    def _aligned(self, slot: Slot, cells: npt.NDArray[Any], rows: RowNumbers, vacant: bool) -> CellIndices:
        shapes = [(rows.size,)] if self._contributions == 1 else [(rows.size,), (rows.size, self._contributions)]
        if cells.dtype.kind not in "iu":
            raise WrongShape(f"slot {slot.number}: cells must be whole numbers, got dtype {cells.dtype}")
        if cells.ndim == 2 and cells.shape[1] > self._contributions:
            raise _too_many(slot, self._contributions)
        if cells.shape not in shapes:
            raise WrongShape(
                f"slot {slot.number}: cells must have shape {' or '.join(map(str, shapes))}, one element for each "
                f"position of the register, got {cells.shape}",
                slot=slot.number,
            )
        if vacant and (cells[rows < 0] != -1).any():
            raise UnknownUser(
                f"slot {slot.number} has a person who has left; use -1 there. Nothing was spent.",
                slot=slot.number,
            )
        if cells.dtype == np.uint64:
            cells = np.where(cells > len(self._domain), len(self._domain), cells).astype(np.int64)
        return cells

    def _listed(
        self, slot: Slot, places: Mapping[Hashable, Any], register: Register, rows: RowNumbers
    ) -> tuple[RowNumbers, CellIndices]:
        positions = register.positions(places.keys(), slot.number)
        cells = np.full((len(places), self._contributions), -1, np.int64)
        for line, given in enumerate(places.values()):
            several = given if isinstance(given, tuple | list) else (given,)
            if len(several) > self._contributions:
                raise _too_many(slot, self._contributions)
            for column, cell in enumerate(several):
                cells[line, column] = self._domain.find(cell)
                if cells[line, column] < 0:
                    raise _unknown_cell(slot, len(self._domain))
        return rows[positions], cells

    def _group_counts(
        self, slot: Slot, groups: Mapping[Hashable, int], sizes: npt.NDArray[np.int64]
    ) -> dict[int, Counts]:
        nobody = np.zeros(len(self._domain), np.int64)
        extra: dict[int, Counts] = dict.fromkeys(groups.values(), nobody)  # a group without counts takes the same path
        unlisted = slot.unlisted or {}
        for name, given in [*(slot.groups or {}).items(), *unlisted.items()]:
            if name not in groups:
                raise UnknownUser(
                    f"slot {slot.number} has a group that was never declared; known are {len(groups)} groups. "
                    "Nothing was spent.",
                    slot=slot.number,
                )
            row = groups[name]
            counts = self._checked_counts(slot, np.asarray(given), (len(self._domain),))
            if name in unlisted:
                counts = np.minimum(counts, sizes[row] * self._contributions)
            else:
                self._within_size(slot, counts.sum(), sizes[row])
            extra[row] = counts
        return extra

    def _row_counts(self, slot: Slot, sizes: npt.NDArray[np.int64]) -> Counts:
        counts = self._checked_counts(slot, np.asarray(slot.counts), (sizes.size, len(self._domain)))
        self._within_size(slot, counts.sum(axis=1), sizes)
        return counts

    def _checked_counts(self, slot: Slot, counts: npt.NDArray[Any], shape: tuple[int, ...]) -> Counts:
        if counts.dtype.kind not in "iu" or counts.shape != shape:
            raise WrongShape(
                f"slot {slot.number}: counts must be whole numbers of shape {shape}, "
                f"got dtype {counts.dtype} of shape {counts.shape}",
                slot=slot.number,
            )
        most = min(2**53, 2**62 // shape[-1])  # so that no sum wraps around
        if counts.size and (counts.min() < 0 or counts.max() > most):
            raise WrongShape(f"slot {slot.number}: counts must not be negative, nor above {most}", slot=slot.number)
        return counts.astype(np.int64)

    def _within_size(self, slot: Slot, people: Any, sizes: Any) -> None:
        if np.any(people > np.asarray(sizes) * self._contributions):
            raise TooManyCells(
                f"slot {slot.number} counts more in a row than its registered size times {self._contributions} "
                "cell(s) allows; register the true size, or bound each user first. Nothing was spent.",
                slot=slot.number,
                limit=self._contributions,
            )


def _unknown_cell(slot: Slot, domain: int) -> UnknownCell:
    return UnknownCell(
        f"slot {slot.number} has a cell outside the declared domain of {domain} cells; drop it or count it as a "
        "declared other. Nothing was spent.",
        slot=slot.number,
        limit=domain,
    )


def _too_many(slot: Slot, limit: int) -> TooManyCells:
    return TooManyCells(
        f"slot {slot.number} has a user in more than {limit} cell(s); bound each user first, or declare more "
        "contributions (which costs accuracy). Nothing was spent.",
        slot=slot.number,
        limit=limit,
    )
