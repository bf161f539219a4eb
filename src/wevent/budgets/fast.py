"""Scans the active declarations of rows for `budgets.declarations`, compiled by numba (extra `fast`)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from wevent.units import UNBOUNDED

_BIG = np.int64(UNBOUNDED)

jit: Any = numba.njit(cache=True, nogil=True)


@jit
def scan(levels, past, declared_level, totals, rows, slot):  # type: ignore[no-untyped-def]
    """Least share, least left, least room, least and greatest saved of each row (axes: value, row).

    Args:
        levels: axes (EB, wB, EF, wF; level).
        past: levels declared in the last slots, axes (slot modulo span, row).
        declared_level: levels declared for this slot (axes: row).
        totals: running totals of spends, axes (change or publish, slot modulo ring, row).
        rows: which rows.
        slot: the slot that opens next.
    """
    span, ring = past.shape[0], totals.shape[1]
    ages = min(span, levels[3].max())
    result = np.empty((5, rows.size), np.int64)
    for k in range(rows.size):
        row = rows[k]
        share_least, left_least, room_least, saved_least, saved_most = _BIG, _BIG, _BIG, _BIG, -_BIG
        change_end, publish_end = totals[0, (slot - 1) % ring, row], totals[1, (slot - 1) % ring, row]
        for age in range(ages):
            level = declared_level[row] if age == 0 else past[(slot - age) % span, row]
            if age >= levels[3, level]:
                continue
            budget, window = levels[2, level], levels[3, level]
            before = (slot - age - 1) % ring
            change, publish = change_end - totals[0, before, row], publish_end - totals[1, before, row]
            share = budget // (2 * window)
            saved = (age + 1) * share - publish  # [Du25] Alg. 6: (t - b(τ))·a_τ
            share_least = min(share_least, share)
            left_least = min(left_least, budget // 2 - publish)
            room_least = min(room_least, budget - change - publish)
            saved_least, saved_most = min(saved_least, saved), max(saved_most, saved)
        result[0, k], result[1, k], result[2, k] = share_least, left_least, room_least
        result[3, k], result[4, k] = saved_least, saved_most
    return result


@jit
def borders(levels, past, declared_level, totals, rows, slot):  # type: ignore[no-untyped-def]
    """Largest border b(τ) of each row, -inf where there is none (axes: row); arguments as in `scan`."""
    span, ring = past.shape[0], totals.shape[1]
    ages = min(span, levels[3].max())
    result = np.full(rows.size, -np.inf)
    for k in range(rows.size):
        row = rows[k]
        end = totals[1, (slot - 1) % ring, row]
        for age in range(ages):
            level = declared_level[row] if age == 0 else past[(slot - age) % span, row]
            if age >= levels[3, level]:
                continue
            share = levels[2, level] // (2 * levels[3, level])
            spent = end - totals[1, (slot - age - 1) % ring, row]
            result[k] = max(result[k], spent / share + (slot - age) - 1)
    return result


@jit
def least(windows, values, past, declared_level, rows, slot):  # type: ignore[no-untyped-def]
    """The least of `values` over the active declarations of each row (axes: row); `windows` are forward ones.

    Both have one element per level; what was declared is given as in `scan`.
    """
    span = past.shape[0]
    ages = min(span, windows.max())
    result = np.empty(rows.size, np.int64)
    for k in range(rows.size):
        row = rows[k]
        found = _BIG
        for age in range(ages):
            level = declared_level[row] if age == 0 else past[(slot - age) % span, row]
            if age < windows[level]:
                found = min(found, values[level])
        result[k] = found
    return result
