"""Counts people per cell and per group of rows, compiled by numba (extra `fast`)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from wevent.cohorts.counting import CellIndices, Counts
from wevent.cohorts.index import RowNumbers

jit: Any = numba.njit(cache=True, nogil=True)


def count_cells(cells: CellIndices, domain: int) -> Counts | None:
    """As `counting.count_cells`."""
    counts = np.zeros(4 * (domain + 1), np.int64)
    if not _count(cells, domain, counts):
        return None
    return counts.reshape(4, domain + 1).sum(axis=0)[1:]


def count_groups(rows: RowNumbers, cells: CellIndices, group: RowNumbers, groups: int, domain: int) -> Counts:
    """People of the rows with `group` >= 0, one cell each and all in range (axes: group, cell)."""
    width = (groups + 1) * (domain + 1)
    counts = np.zeros(4 * width, np.int64)
    _count_groups(rows, cells, np.concatenate([[0], (group + 1) * (domain + 1)]) + 1, width, counts)
    return counts.reshape(4, groups + 1, domain + 1).sum(axis=0)[1:, 1:]


@jit
def _count_groups(rows, cells, offset, width, counts):  # type: ignore[no-untyped-def]
    """As `_count`, by group and cell: 0 are those that do not count; `offset` begins with that of row -1."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    steps, stride = rows.size // 4, np.uint64(width)
    for step in range(steps):
        k = four * np.uint64(step)
        counts[np.uint64(offset[np.uint64(rows[k] + 1)] + cells[k])] += 1
        counts[np.uint64(offset[np.uint64(rows[k + one] + 1)] + cells[k + one]) + stride] += 1
        counts[np.uint64(offset[np.uint64(rows[k + two] + 1)] + cells[k + two]) + two * stride] += 1
        counts[np.uint64(offset[np.uint64(rows[k + three] + 1)] + cells[k + three]) + three * stride] += 1
    for rest in range(4 * steps, rows.size):
        counts[offset[rows[rest] + 1] + cells[rest]] += 1


@jit
def _count(cells, domain, counts):  # type: ignore[no-untyped-def]
    """Count into four histograms in turn, so that equal neighbours do not wait for each other; False out of range."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    limit, width = np.uint64(domain), np.uint64(domain + 1)
    steps = cells.size // 4
    for step in range(steps):
        k = four * np.uint64(step)
        a = np.uint64(np.int64(cells[k]) + 1)
        b = np.uint64(np.int64(cells[k + one]) + 1)
        c = np.uint64(np.int64(cells[k + two]) + 1)
        d = np.uint64(np.int64(cells[k + three]) + 1)
        if a > limit or b > limit or c > limit or d > limit:
            return False
        counts[a] += 1
        counts[b + width] += 1
        counts[c + two * width] += 1
        counts[d + three * width] += 1
    for rest in range(4 * steps, cells.size):
        last = np.uint64(np.int64(cells[rest]) + 1)
        if last > limit:
            return False
        counts[last] += 1
    return True
