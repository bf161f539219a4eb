"""Counts the elements of an integer array by value, in numpy, and refuses values outside the domain.

`cohorts.fast` holds the same function for numba; both give the same numbers and the same refusals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
CellIndices = npt.NDArray[np.integer[Any]]

_BLOCK = 65_536


def count_cells(cells: CellIndices, domain: int) -> Counts | None:
    """How many elements hold 0, 1, …, domain - 1, with -1 left out; None if any is out of range (axes: cell).

    Guarantees:
        None exactly if some element is below -1 or not below `domain`.
    """
    counts = np.zeros(domain + 1, np.int64)
    block = max(_BLOCK, 4 * domain)
    keys = np.empty(min(block, cells.size), np.int64)
    for start in range(0, cells.size, block):
        part = cells[start : start + block]
        shifted = keys[: part.size]
        np.add(part, 1, out=shifted, dtype=np.int64, casting="unsafe")  # in 64 bits: 255 + 1 is not 0
        try:
            # A negative value raises; one that is too large makes the result too long.
            found = np.bincount(shifted, minlength=domain + 1)
        except (ValueError, MemoryError):
            return None
        if found.size > domain + 1:
            return None
        counts += found
    return counts[1:]
