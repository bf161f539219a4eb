"""The check of windows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wevent.budgets.feasibility import DynamicPromise, FixedPromise, Promise, worst
from wevent.cohorts.requirement import Dynamic, Fixed
from wevent.study.window_check import DynamicWindowCheck, FixedWindowCheck

spends = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=40)
fixed = st.builds(Fixed, st.sampled_from(["0.00000004", "0.0000001", "0.000002"]), st.integers(1, 9))
sides = st.tuples(st.sampled_from(["0.00000004", "0.0000001", "0.000002"]), st.integers(1, 9))
moving = st.builds(Dynamic, sides, sides)


@given(spends=spends, required=st.tuples(fixed, fixed))
def test_the_fullest_window_is_found(spends: list[tuple[int, int]], required: tuple[Fixed, Fixed]) -> None:
    """Equal to the plain checker of every window, row by row."""
    check = FixedWindowCheck(required)
    for slot in spends:
        check.add(np.array(slot))
    promised = [[FixedPromise(own.units, own.window, 1)] for own in required]
    assert check.worst() == max(worst([slot[row] for slot in spends], promised[row]) for row in range(2))


@given(spends=spends, data=st.data())
def test_the_fullest_window_of_any_declaration_is_found(spends: list[tuple[int, int]], data: st.DataObject) -> None:
    """Equal to the plain checker where every slot declares anew."""
    required = [data.draw(st.tuples(moving, moving)) for _ in spends]
    check = DynamicWindowCheck(required[0])
    for number, (slot, requirements) in enumerate(zip(spends, required, strict=True)):
        if number:
            check.change(list(enumerate(requirements)))
        check.add(np.array(slot))
    promised: list[list[Promise]] = [
        [
            DynamicPromise(t, own.backward.units, own.backward.window, own.forward.units, own.forward.window)
            for t, own in enumerate((requirements[row] for requirements in required), start=1)
        ]
        for row in range(2)
    ]
    assert check.worst() == max(worst([slot[row] for slot in spends], promised[row]) for row in range(2))


def test_one_unit_too_much_is_above_one() -> None:
    """No tolerance."""
    check = FixedWindowCheck([Fixed(1, 2)])
    check.add(np.array([500_000_000]))
    check.add(np.array([500_000_000]))
    assert check.worst() == 1
    check.add(np.array([500_000_001]))
    assert check.worst() == Fraction(1_000_000_001, 1_000_000_000) > 1


def test_nothing_spent_is_nothing() -> None:
    """An empty stream has no full window."""
    assert FixedWindowCheck([Fixed(1, 2)]).worst() == DynamicWindowCheck([Dynamic((1, 2))]).worst() == 0
