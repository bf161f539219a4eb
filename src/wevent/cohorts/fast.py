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
    steps = rows.size // 4
    second, third, fourth = np.uint64(width), np.uint64(2 * width), np.uint64(3 * width)
    for step in range(steps):
        a = np.uint64(4) * np.uint64(step)
        b, c, d = a + np.uint64(1), a + np.uint64(2), a + np.uint64(3)
        counts[np.uint64(offset[np.uint64(rows[a] + 1)] + cells[a])] += 1
        counts[np.uint64(offset[np.uint64(rows[b] + 1)] + cells[b]) + second] += 1
        counts[np.uint64(offset[np.uint64(rows[c] + 1)] + cells[c]) + third] += 1
        counts[np.uint64(offset[np.uint64(rows[d] + 1)] + cells[d]) + fourth] += 1
    for rest in range(4 * steps, rows.size):
        counts[offset[rows[rest] + 1] + cells[rest]] += 1


@jit
def _count(cells, domain, counts):  # type: ignore[no-untyped-def]
    """Count into four histograms in turn, so that equal neighbours do not wait for each other; False out of range."""
    limit, steps = np.uint64(domain), cells.size // 4
    second, third, fourth = np.uint64(domain + 1), np.uint64(2 * (domain + 1)), np.uint64(3 * (domain + 1))
    for step in range(steps):
        k = np.uint64(4) * np.uint64(step)
        a = np.uint64(np.int64(cells[k]) + 1)
        b = np.uint64(np.int64(cells[k + np.uint64(1)]) + 1)
        c = np.uint64(np.int64(cells[k + np.uint64(2)]) + 1)
        d = np.uint64(np.int64(cells[k + np.uint64(3)]) + 1)
        if a > limit or b > limit or c > limit or d > limit:
            return False
        counts[a] += 1
        counts[b + second] += 1
        counts[c + third] += 1
        counts[d + fourth] += 1
    for rest in range(4 * steps, cells.size):
        last = np.uint64(np.int64(cells[rest]) + 1)
        if last > limit:
            return False
        counts[last] += 1
    return True
