"""Carrying people in the cell where they were last seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.errors import CorruptState, InvalidSetting
from wevent.events.presence import Carry

PEOPLE = 3
slots = st.lists(st.lists(st.integers(-1, 2), min_size=PEOPLE, max_size=PEOPLE), min_size=1, max_size=12)


@given(slots, st.integers(1, 5), st.integers(0, 11))
def test_the_rule(seen: list[list[int]], age: int, cut: int) -> None:
    """A row is the last cell seen in the last `age` slots, this one included; kept in bytes and back at any time."""
    carry = Carry(age)
    for slot, cells in enumerate(seen, start=1):
        if slot == cut:
            kept, carry = carry.state(), Carry(age)
            carry.restore(kept)
        expected = []
        for person in range(PEOPLE):
            lately = [seen[k][person] for k in range(max(0, slot - age), slot) if seen[k][person] >= 0]
            expected.append(lately[-1] if lately else -1)
        assert carry.cells(slot, np.array(cells)).tolist() == expected


def test_people_may_be_added() -> None:
    """Newcomers have no past."""
    carry = Carry(3)
    carry.cells(1, np.array([1]))
    assert carry.cells(2, np.array([-1, -1])).tolist() == [1, -1]


@given(slots, st.integers(1, 5), st.lists(st.lists(st.booleans(), min_size=PEOPLE, max_size=PEOPLE), min_size=12))
def test_nothing_is_kept_longer_than_needed(seen: list[list[int]], age: int, present: list[list[bool]]) -> None:
    """After a slot only the cells of people who are carried into the next one are kept."""
    carry = Carry(age)
    for slot, cells in enumerate(seen, start=1):
        registered = np.array(present[slot - 1])
        rows = carry.cells(slot, np.array(cells), registered)
        assert (rows[~registered] == -1).all()
        cell, when = np.split(carry.state(), 2)
        for person in range(PEOPLE):
            stayed = [k for k in range(slot, 0, -1) if not present[k - 1][person]][:1]
            first = max(slot + 2 - age, 1, *(k + 1 for k in stayed))
            lately = [k for k in range(first, slot + 1) if seen[k - 1][person] >= 0]
            expected = (seen[lately[-1] - 1][person], lately[-1]) if lately else (-1, -1)
            assert (cell[person], when[person]) == expected


def test_refusals() -> None:
    """No slot at all is no age; half a state is no state."""
    with pytest.raises(InvalidSetting, match="at least 1"):
        Carry(0)
    with pytest.raises(CorruptState):
        Carry(1).restore(np.zeros(3, np.int64))
