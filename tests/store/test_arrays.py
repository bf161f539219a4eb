"""Arrays as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import CorruptState
from wevent.store.arrays import counts, real, squeeze, squeeze_counts, whole


@given(st.lists(st.floats(width=64), max_size=20), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_there_and_back(fractions: list[float], numbers: list[int]) -> None:
    """Doubles and whole numbers come back bit by bit, and counts as what they were."""
    for array in (np.array(fractions, np.float64), np.array(numbers, np.int64)):
        back = counts(squeeze_counts(array))
        assert back.dtype == array.dtype
        assert back.tobytes() == array.tobytes()
    assert real(squeeze(np.array(fractions, np.float64))).tobytes() == np.array(fractions, np.float64).tobytes()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_whole_counts_are_stored_as_before(numbers: list[int]) -> None:
    """Whole counts have no mark, so that stores from before are read the same way; and no mark is like them."""
    array = np.array(numbers, np.int64)
    assert squeeze_counts(array) == squeeze(array)
    assert whole(squeeze_counts(array)).tolist() == numbers


def test_damage() -> None:
    """Anything else is refused."""
    for data in (b"", b"f", b"fx", squeeze(np.ones(9))[:-4]):
        with pytest.raises(CorruptState):
            counts(data)
