"""Reads declarations and spends of individual rows, and scans them for what they leave; exact, O(window) per row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.budgets.individual.kernels.arrays import BIG, LevelArrays, PastArrays, RowArrays, called, inlined, jit
from wevent.units import Units


@inlined
def _irregular_spend(past: PastArrays, row: int, place: int) -> int:
    """Look up a change budget that is no level's share."""
    low = past.irregular_index[0, place]
    high = low + past.irregular_index[1, place]
    while low < high:
        middle = (low + high) >> 1
        if past.irregular_rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return past.irregular_values[low]


@inlined
def change_spend(levels: LevelArrays, past: PastArrays, row: int, place: int) -> int:
    """The change budget that a row spent in the slot of a place in the ring."""
    code = np.int64(past.change_codes[row >> 3, place, row & 7])
    if code == past.irregular_code:
        return _irregular_spend(past, row, place)
    return levels.share[code]


@called
def spent_in_window(levels: LevelArrays, past: PastArrays, row: int, window: int) -> tuple[np.int64, np.int64]:
    """Change and publish budget of a row in slots t - window + 1 … t - 1."""
    change, publish = np.int64(0), np.int64(0)
    place = past.slot % past.span
    for _ in range(min(window, past.slot) - 1):
        place = place - 1 if place > 0 else past.span - 1
        change += change_spend(levels, past, row, place)
    place = past.newest
    for _ in range(past.publications):
        if past.published[place] <= past.slot - window:
            break
        publish += past.publish_spends[row, place]
        place = place - 1 if place > 0 else past.published.size - 1
    return change, publish


@called
def scan_room(levels: LevelArrays, past: PastArrays, row: int) -> np.int64:
    """Least EF less everything spent since τ, over past declarations that are active."""
    least, since = BIG, np.int64(0)
    place, remaining = past.newest, past.publications
    cell = past.slot % past.span
    for age in range(1, min(past.longest, past.span, past.slot)):
        cell = cell - 1 if cell > 0 else past.span - 1
        if remaining > 0 and past.published[place] == past.slot - age:
            since += past.publish_spends[row, place]
            place = place - 1 if place > 0 else past.published.size - 1
            remaining -= 1
        since += change_spend(levels, past, row, cell)
        level = np.int64(past.declared[row >> 3, cell, row & 7])
        if age < levels.forward_window[level]:
            least = min(least, levels.forward[level] - since)
    return least


@inlined
def window_forgotten(past: PastArrays, born: int, window: int) -> bool:
    """Whether a backward window reaches into slots that are forgotten for a row born in slot `born`."""
    first = past.slot - window + 1
    return first <= past.forgotten or (first < past.known and born < past.known)


@called
def reaches_forgotten(levels: LevelArrays, past: PastArrays, rows: RowArrays, row: int) -> bool:
    """Whether the window of an active declaration reaches back to forgotten slots."""
    if past.slot - past.longest >= past.forgotten:
        return False
    if past.slot - levels.forward_window[np.int64(rows.declared_level[row])] < past.forgotten:
        return True
    for age in range(1, min(past.longest, past.span, past.slot)):
        window = levels.forward_window[np.int64(past.declared[row >> 3, (past.slot - age) % past.span, row & 7])]
        if age < window and past.slot - window < past.forgotten:
            return True
    return False


@called
def scan_saved(levels: LevelArrays, past: PastArrays, row: int) -> tuple[np.int64, np.int64, np.int64, np.int64]:
    """The least and the greatest (t - τ + 1)·a_τ - U(τ), with the level and last slot of the greatest."""
    least, most, most_level, most_until = BIG, -BIG, np.int64(0), np.int64(0)
    since = np.int64(0)
    place, remaining = past.newest, past.publications
    next_publication = past.published[place] if remaining > 0 else np.int64(0)
    cell, last_cell = past.slot % past.span, past.span - 1
    for age in range(1, min(past.longest, past.span, past.slot)):
        cell = cell - 1 if cell > 0 else last_cell
        if past.slot - age == next_publication:
            since += past.publish_spends[row, place]
            place = place - 1 if place > 0 else past.published.size - 1
            remaining -= 1
            next_publication = past.published[place] if remaining > 0 else np.int64(0)
        level = np.int64(past.declared[row >> 3, cell, row & 7])
        if age < levels.forward_window[level]:
            value = (age + 1) * levels.share[level] - since
            least = min(least, value)
            if value > most:
                most, most_level, most_until = value, level, past.slot - age + levels.forward_window[level] - 1
    return least, most, most_level, most_until


@jit
def read_rooms(levels: LevelArrays, past: PastArrays, rows: RowArrays, result: Units) -> None:
    """Exact room of every row."""
    for row in range(result.size):
        level = np.int64(rows.declared_level[row])
        result[row] = 0
        if level > 0:
            room = scan_room(levels, past, row)
            budget, window = levels.backward[level], levels.backward_window[level]
            change, publish = spent_in_window(levels, past, row, window)
            if window_forgotten(past, rows.born[row], window):
                budget = change + publish
            if reaches_forgotten(levels, past, rows, row):
                room = np.int64(0)
            result[row] = max(min(room, levels.forward[level], budget - change - publish), np.int64(0))


@jit
def read_borders(levels: LevelArrays, past: PastArrays, rows: RowArrays, result: npt.NDArray[np.float64]) -> None:
    """Largest border b(τ) of every row over its active declarations, -inf for a row that declares nothing."""
    for row in range(result.size):
        since, most = np.int64(0), -np.inf
        place, remaining = past.newest, past.publications
        if rows.declared_level[row] > 0:
            most = np.float64(past.slot - 1)
        for age in range(1, min(past.longest, past.span, past.slot)):
            slot = past.slot - age
            if remaining > 0 and past.published[place] == slot:
                since += past.publish_spends[row, place]
                place = place - 1 if place > 0 else past.published.size - 1
                remaining -= 1
            level = np.int64(past.declared[row >> 3, slot % past.span, row & 7])
            if age < levels.forward_window[level]:
                most = max(most, since / levels.share[level] + slot - 1)
        result[row] = most if rows.declared_level[row] > 0 else -np.inf


@jit
def read_change_spends(levels: LevelArrays, past: PastArrays, row: int, result: Units) -> None:
    """The change budgets of one row in the last slots, oldest first."""
    for k in range(result.size):
        slot = past.slot - result.size + k
        result[k] = change_spend(levels, past, row, slot % past.span) if slot >= 1 else 0
