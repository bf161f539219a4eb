"""Arrays as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import CorruptState
from wevent.store.arrays import decode_counts, decode_floats, decode_integers, encode_array, encode_counts


@given(st.lists(st.floats(width=64), max_size=20), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_there_and_back(fractions: list[float], numbers: list[int]) -> None:
    """Doubles and whole numbers come back bit by bit, and counts as what they were."""
    for array in (np.array(fractions, np.float64), np.array(numbers, np.int64)):
        back = decode_counts(encode_counts(array))
        assert back.dtype == array.dtype
        assert back.tobytes() == array.tobytes()
    assert (
        decode_floats(encode_array(np.array(fractions, np.float64))).tobytes()
        == np.array(fractions, np.float64).tobytes()
    )


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_whole_counts_are_stored_as_before(numbers: list[int]) -> None:
    """Whole counts have no mark, so that stores from before are read the same way; and no mark is like them."""
    array = np.array(numbers, np.int64)
    assert encode_counts(array) == encode_array(array)
    assert decode_integers(encode_counts(array)).tolist() == numbers


def test_damage() -> None:
    """Anything else is refused."""
    for data in (b"", b"f", b"fx", encode_array(np.ones(9))[:-4]):
        with pytest.raises(CorruptState):
            decode_counts(data)
