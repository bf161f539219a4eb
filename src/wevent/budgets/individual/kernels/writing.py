"""Writes what individual rows declare and what a slot leaves in a ring."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.individual.kernels.arrays import Codes, jit


@jit
def assign(declared_level: Codes, levels: Codes, choice: npt.NDArray[np.integer[Any]]) -> None:
    """Let row k declare `levels[choice[k]]`; -1 for no change."""
    for row in range(declared_level.size):
        if choice[row] >= 0:
            declared_level[row] = levels[choice[row]]


@jit
def write_ring(ring: Codes, place: int, column: Codes) -> None:
    """Write one slot of a ring."""
    full_blocks = column.size >> 3
    for block in range(full_blocks):
        for k in range(8):
            ring[block, place, k] = column[(block << 3) + k]
    for row in range(full_blocks << 3, column.size):
        ring[full_blocks, place, row & 7] = column[row]
