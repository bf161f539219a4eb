"""Counting different budgets over very many rows, compiled by numba (extra `fast`)."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from wevent.decisions.selection import step_bits
from wevent.units import Units


def tally(
    budgets: Units, sizes: npt.NDArray[np.int64], most: int
) -> tuple[Units, npt.NDArray[np.int64], Units]:
    """Different budgets ascending, people of each, and the budget each row is sampled by."""
    values, people, used, least, greatest = _tally(budgets, sizes, most, -1)
    if used > most:
        bits = step_bits(int(least), int(greatest))
        values, people, used, _, _ = _tally(budgets, sizes, most + 1, bits)
        budgets = _floor(budgets, bits)
    order = np.argsort(values[:used])
    return values[:used][order], people[:used][order], budgets


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _floor_one(value, bits):  # type: ignore[no-untyped-def]
    length = 0
    rest = value
    while rest >= 256:
        rest >>= 8
        length += 8
    while rest > 0:
        rest >>= 1
        length += 1
    drop = length - 1 - bits
    return (value >> drop) << drop if drop > 0 else value


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _floor(budgets, bits):  # type: ignore[no-untyped-def]
    result = np.empty_like(budgets)
    for row in range(budgets.size):
        result[row] = _floor_one(budgets[row], bits)
    return result


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _tally(budgets, sizes, most, bits):  # type: ignore[no-untyped-def]
    """Open hashing into a small table; with more than `most` different ones only least and greatest are certain."""
    capacity = 8192
    slots = np.full(capacity, -1, np.int64)
    values, people = np.empty(most + 1, np.int64), np.zeros(most + 1, np.int64)
    used = 0
    least, greatest = np.int64(2**62), np.int64(0)
    full = False
    last_value, last_place = np.int64(-1), 0
    for row in range(budgets.size):
        size = sizes[row]
        if size == 0:
            continue
        value = budgets[row]
        if value > 0:
            least, greatest = min(least, value), max(greatest, value)
        if full:
            continue
        if bits >= 0:
            value = _floor_one(value, bits)
        if value == last_value:
            people[last_place] += size
            continue
        hashed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64(hashed >> np.uint64(51))
        while slots[place] >= 0 and values[slots[place]] != value:
            place = (place + 1) & (capacity - 1)
        if slots[place] < 0:
            if used > most:
                full = True
                continue
            slots[place] = used
            values[used] = value
            used += 1
            full = used > most
        last_value, last_place = value, slots[place]
        people[last_place] += size
    return values, people, used, least, greatest
