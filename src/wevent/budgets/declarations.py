"""Holds the dynamic requirements that rows declare, slot by slot, and computes what they leave.

A declaration made at slot τ binds forward in τ … τ+wF-1 and backward in τ alone; it is made again in every slot until
it changes (SPEC §2, §6). This is the complete path in numpy, O(span) per row, with the loops compiled by numba where
that is installed. Individual rows go through `budgets.individual`, which must give the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.forecast import DeclarationForecast
from wevent.budgets.history import History
from wevent.budgets.levels import LevelTable
from wevent.units import UNBOUNDED, Units

_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Forward:
    """What the active declarations of rows say now; unbounded where a row has none (axes: row).

    Attributes:
        rows: which rows.
        share: least share a_τ.
        left: least EF/2 - U(τ).
        room: least EF - everything spent since τ.
        least_saved: least (t - τ + 1)·a_τ - U(τ); at most 0 means the row rests.
        most_saved: the greatest of the same.
    """

    rows: npt.NDArray[np.int64]
    share: Units
    left: Units
    room: Units
    least_saved: Units
    most_saved: Units


@dataclass(frozen=True, slots=True)
class Backward:
    """What this slot's backward requirements leave: in all, and per part (axes: row)."""

    rows: npt.NDArray[np.int64]
    room: Units
    change_left: Units
    publish_left: Units


class Declarations:
    """Levels declared per row: now, and in the last slots (axes: slot modulo span, row)."""

    def __init__(self, span: int = 1, *, fast: bool = False) -> None:
        self.span = span
        self._fast = fast
        self.table = LevelTable()
        self.in_force = np.zeros(0, np.int32)  # the level that each row declares for the next slot, 0 for none
        self._past = np.zeros((span, 0), np.int32)  # levels of the last slots, axes (slot modulo span, row)
        self._until = np.zeros(0, np.int64)  # the last slot in which any declaration of a row binds, 0 for none

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.in_force.nbytes + self._past.nbytes + self._until.nbytes

    def reserve(self, rows: int) -> None:
        """Make place for more rows, none of which has declared anything."""
        if rows > self.in_force.size:
            more = max(rows, 2 * self.in_force.size) - self.in_force.size
            self.in_force = np.concatenate([self.in_force, np.zeros(more, np.int32)])
            self._past = np.concatenate([self._past, np.zeros((self.span, more), np.int32)], axis=1)
            self._until = np.concatenate([self._until, np.zeros(more, np.int64)])

    def extend(self, span: int, slot: int) -> None:
        """Remember `span` slots back from now on."""
        if span > self.span:
            slots = np.arange(slot - self.span, slot)
            wider = np.zeros((span, self.in_force.size), np.int32)
            wider[slots % span] = self._past[slots % self.span]
            self._past, self.span = wider, span

    def clear(self, row: int) -> None:
        """Make a row as if it had never declared anything."""
        if row < self.in_force.size:
            self.in_force[row], self._past[:, row], self._until[row] = 0, 0, 0

    def copy_row(self, source: int, target: int, until: int, slot: int) -> None:
        """Give `target` what `source` declared up to slot `until`."""
        if source < self.in_force.size:
            self.reserve(target + 1)
            self._past[:, target] = self._past[:, source]
            for late in range(max(until, slot - self.span) + 1, slot):
                self._past[late % self.span, target] = 0
            self.in_force[target] = 0
            self._until[target] = self._until[source]

    def write_row(self, row: int, levels: npt.NDArray[np.integer[Any]], slot: int) -> None:
        """Set what a row declared in the last slots, oldest first."""
        self.reserve(row + 1)
        self.clear(row)
        slots = np.arange(slot - levels.size, slot)
        self._past[slots % self.span, row] = levels
        ends = (slots + self.table.forward_window[levels] - 1)[levels > 0]
        self._until[row] = ends.max(initial=0)

    def levels(self, row: int, slot: int) -> npt.NDArray[np.int32]:
        """What a row declared in the last span - 1 slots, oldest first."""
        if row >= self.in_force.size:
            return np.zeros(self.span - 1, np.int32)
        return self._past[np.arange(slot - self.span + 1, slot) % self.span, row]

    def close(self, slot: int, members: npt.NDArray[np.bool_]) -> None:
        """Write down what was in force in `slot`."""
        if self.in_force.size:
            declared = np.where(members[: self.in_force.size], self.in_force[: members.size], 0)
            self._past[slot % self.span, : declared.size] = declared
            ends = np.where(declared > 0, slot + self.table.forward_window[declared] - 1, 0)
            np.maximum(self._until[: declared.size], ends, out=self._until[: declared.size])

    def active_rows(self, slot: int, members: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Rows with members that declare now or whose declarations still bind."""
        if not self.in_force.size:
            return np.empty(0, np.int64)
        many = min(members.size, self.in_force.size)
        return np.flatnonzero(members[:many] & ((self.in_force[:many] > 0) | (self._until[:many] >= slot)))

    def forward(self, history: History, rows: npt.NDArray[np.int64]) -> Forward:
        """Scan the active declarations of `rows`."""
        if self._fast:
            from wevent.budgets.fast import scan

            found = Forward(rows, *scan(self.table.values, self._past, self.in_force, history.ring, rows, history.slot))
        else:
            parts = [self._scan(history, chunk) for chunk in self._chunks(rows)]
            found = Forward(rows, *(np.concatenate(column) for column in zip(*parts, strict=True)))
        return self._held_back(history, found)

    def _held_back(self, history: History, found: Forward) -> Forward:
        """No room where an active declaration's window reaches back to forgotten slots.

        A newcomer may have declared the same in those slots: that declaration still binds.
        """
        if history.slot - self.table.longest >= history.forgotten:
            return found
        widest = -self.least(history.slot, found.rows, -self.table.forward_window)
        room = np.where(history.slot - widest < history.forgotten, np.minimum(found.room, 0), found.room)
        return replace(found, room=room)

    def _chunks(self, rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """Rows in parts that fit into a bounded scan over all ages."""
        size = max(1, _AT_ONCE // max(1, min(self.span, self.table.longest)))
        return [rows[k : k + size] for k in range(0, rows.size, size)]

    def _look_back(self, slot: int, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The slots that declarations may reach over, newest first, and what was declared in them (axes: age, row)."""
        slots = slot - np.arange(min(self.span, self.table.longest))
        level = self._past[(slots % self.span)[:, None], rows]
        level[0] = self.in_force[rows]
        return slots, level

    def _scan(self, history: History, rows: npt.NDArray[np.int64]) -> tuple[Units, ...]:
        slots, level = self._look_back(history.slot, rows)
        age = (history.slot - slots)[:, None]
        idle = age >= self.table.forward_window[level]
        change_budget, publish_budget = history.since(slots, rows)
        share = self.table.share[level]
        saved = (age + 1) * share - publish_budget  # [Du25] Alg. 6: (t - b(τ))·a_τ
        most = np.where(idle, -UNBOUNDED, saved).max(axis=0)
        values = (
            share,
            self.table.half[level] - publish_budget,
            self.table.forward[level] - change_budget - publish_budget,
            saved,
        )
        for array in values:
            array[idle] = UNBOUNDED
        return (*(array.min(axis=0) for array in values), most)

    def least(self, slot: int, rows: npt.NDArray[np.int64], values: Units) -> Units:
        """The least of a value per level over the active declarations of `rows`, unbounded without one (axes: row)."""
        if self._fast:
            from wevent.budgets.fast import least

            found: Units = least(self.table.forward_window, values, self._past, self.in_force, rows, slot)
            return found
        result = [np.empty(0, np.int64)]
        for chunk in self._chunks(rows):
            slots, level = self._look_back(slot, chunk)
            active = (slot - slots)[:, None] < self.table.forward_window[level]
            result.append(np.where(active, values[level], UNBOUNDED).min(axis=0))
        return np.concatenate(result)

    def forecast(self, history: History, rows: npt.NDArray[np.int64]) -> DeclarationForecast:
        """What the declarations of `rows` will leave in the slots to come."""
        slots, level = self._look_back(history.slot, rows)
        change_budget, publish_budget = history.since(slots, rows)
        left, ago = self.table.forward[level] - change_budget - publish_budget, history.slot - history.forgotten
        return DeclarationForecast.of(self.table.forward_window[level], level, left, ago)

    def borders(self, history: History, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Largest border b(τ) of each row over its active declarations, -inf where there is none (axes: row)."""
        if self._fast:
            from wevent.budgets.fast import borders

            found: npt.NDArray[np.float64] = borders(
                self.table.values, self._past, self.in_force, history.ring, rows, history.slot
            )
            return found
        parts = [np.empty(0)]
        for chunk in self._chunks(rows):
            slots, level = self._look_back(history.slot, chunk)
            _, publish_budget = history.since(slots, chunk)
            border = publish_budget / np.maximum(self.table.share[level], 1) + slots[:, None] - 1
            border[(history.slot - slots)[:, None] >= self.table.forward_window[level]] = -np.inf
            parts.append(border.max(axis=0))
        return np.concatenate(parts)

    def backward(self, history: History, rows: npt.NDArray[np.int64], wait: int = 0) -> Backward:
        """What the requirements declared for this slot leave; `rows` must declare one.

        With `wait`, what they leave so many slots later if nothing is spent until then.
        """
        level = self.in_force[rows]
        window, budget = self.table.backward_window[level], self.table.backward[level]
        change_budget, publish_budget = history.spent(np.maximum(window - wait, 1) if wait else window, rows)
        unknown = history.slot + wait - window + 1 < history.known_since[rows]
        room = np.where(unknown, 0, budget - change_budget - publish_budget)
        return Backward(rows, room, budget // 2 - change_budget, budget // 2 - publish_budget)

    def take(self, rows: npt.NDArray[np.int64]) -> Declarations:
        """A copy of these rows."""
        self.reserve(int(rows.max(initial=-1)) + 1)
        taken = Declarations(self.span, fast=self._fast)
        taken.table, taken.in_force = self.table, self.in_force[rows]
        taken._past, taken._until = self._past[:, rows], self._until[rows]
        return taken

    def append(self, levels: npt.NDArray[np.integer[Any]], in_force: npt.NDArray[np.integer[Any]], slot: int) -> None:
        """More rows: what they declared in the last span - 1 slots, oldest first (axes: slot, row), and declare now."""
        past = np.zeros((self.span, in_force.size), np.int32)
        past[np.arange(slot - levels.shape[0], slot) % self.span] = levels
        self._past = np.concatenate([self._past, past], axis=1)
        self.in_force = np.concatenate([self.in_force, in_force.astype(np.int32)])
        self._until = np.concatenate([self._until, np.zeros(in_force.size, np.int64)])

    def state(self, rows: int) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        self.reserve(rows)
        return {
            "span": self.span,
            "levels": self.table.values,
            "in_force": self.in_force[:rows],
            "past": self._past[:, :rows],
            "until": self._until[:rows],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], *, fast: bool = False) -> Declarations:
        """The same declarations again."""
        declarations = cls(state["span"], fast=fast)
        declarations.table = LevelTable.from_values(state["levels"])
        declarations.in_force, declarations._past = state["in_force"].copy(), state["past"].copy()
        declarations._until = state["until"].copy()
        return declarations
