"""Counts people by budget over very many rows, compiled by numba (extra `fast`)."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from wevent.decisions.selection import step_bits
from wevent.units import Units

jit: Any = numba.njit(cache=True, nogil=True)

_TABLE = 8192
"""Places of the hash table, 2^13: the hash keeps that many bits."""


def tally(budgets: Units, sizes: npt.NDArray[np.int64], most: int) -> tuple[Units, npt.NDArray[np.int64], int | None]:
    """Different budgets ascending, people of each, and the bits they were rounded down to if there were too many."""
    values, people, bits = np.full(_TABLE, -1, np.int64), np.zeros(_TABLE, np.int64), None
    if _tally(budgets, sizes, most, -1, values, people) > most:
        least, greatest = _ends(budgets, sizes)
        bits = step_bits(int(least), int(greatest))
        values[:], people[:] = -1, 0
        _tally(budgets, sizes, most + 1, bits, values, people)
    used = np.flatnonzero(values >= 0)
    order = used[np.argsort(values[used])]
    return values[order], people[order], bits


@jit
def _ends(budgets, sizes):  # type: ignore[no-untyped-def]
    """Least and greatest positive budget."""
    least, greatest = np.int64(2**62), np.int64(1)
    for row in range(budgets.size):
        if sizes[row] > 0 and budgets[row] > 0:
            least, greatest = min(least, budgets[row]), max(greatest, budgets[row])
    return least, greatest


@jit
def _tally(budgets, sizes, most, bits, values, people):  # type: ignore[no-untyped-def]
    """Open hashing; returns how many different budgets there are, and stops once they are more than `most`."""
    used = 0
    for row in range(budgets.size):
        size = sizes[row]
        if size == 0:
            continue
        value = budgets[row]
        if bits >= 0:
            drop = math.frexp(np.float64(value))[1] - 1 - bits  # budgets are below 2^53, so this is exact
            value = (value >> drop) << drop if drop > 0 else value
        place = (np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(51)
        while values[place] != value:
            if values[place] < 0:
                values[place] = value
                used += 1
                if used > most:
                    return used
            else:
                place = (place + np.uint64(1)) & np.uint64(_TABLE - 1)
        people[place] += size
    return used
