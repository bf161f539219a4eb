"""Counting people per cell, for every kind of integer, and refusing exactly the values that are out of range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST

from wevent.cohorts import counting
from wevent.cohorts.counting import CellIndices, Counts

KINDS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]
fast = pytest.mark.parametrize("fast", FAST)


def counter(fast: bool) -> Callable[[CellIndices, int], Counts | None]:
    if fast:
        from wevent.cohorts.fast import count_cells

        return count_cells
    return counting.count_cells


@fast
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None)
def test_counts_or_refuses(kind: Any, fast: bool, data: st.DataObject) -> None:
    """The histogram if every element is from -1 to domain - 1, None otherwise, in every width of integer."""
    ends = np.iinfo(kind)
    domain = data.draw(st.integers(1, 300))
    inside = st.integers(max(-1, int(ends.min)), min(domain - 1, int(ends.max)))
    least, most = int(ends.min), int(ends.max)
    outside = st.sampled_from([least, most, min(domain, most), max(-2, least)])
    cells = data.draw(st.lists(inside, max_size=20)) + data.draw(st.lists(outside, max_size=1))
    found = counter(fast)(np.array(cells, kind), domain)
    if any(not -1 <= cell < domain for cell in cells):
        assert found is None
    else:
        assert found is not None
        counted = Counter(cells)
        assert found.tolist() == [counted[cell] for cell in range(domain)]


@fast
@pytest.mark.parametrize(("kind", "domain"), [(np.uint8, 256), (np.int8, 128), (np.uint16, 65_536)])
def test_the_last_cell_of_a_narrow_kind(kind: Any, domain: int, fast: bool) -> None:
    """Adding one to the largest number of a narrow integer does not wrap around."""
    last = np.array([domain - 1, 0, domain - 1], kind)
    found = counter(fast)(last, domain)
    assert found is not None
    assert (found[0], found[-1], found.sum()) == (1, 2, 3)
    assert counter(fast)(last, domain - 1) is None


@fast
@pytest.mark.parametrize("people", [0, 1, 65_536, 65_537, 200_001])
def test_blocks_join(people: int, fast: bool) -> None:
    """Long arrays are counted in blocks, and nobody is lost at the seams."""
    cells = np.arange(people) % 11 - 1
    found = counter(fast)(cells, 10)
    assert found is not None
    assert np.array_equal(found, np.bincount(cells + 1, minlength=11)[1:])
    if people:
        cells[-1] = 10
        assert counter(fast)(cells, 10) is None


@fast
def test_views_are_counted_like_copies(fast: bool) -> None:
    """Strided arrays give the same counts."""
    cells = np.arange(300).reshape(100, 3) % 7
    found = counter(fast)(cells[:, 1], 7)
    assert found is not None
    assert np.array_equal(found, np.bincount(cells[:, 1], minlength=7))
