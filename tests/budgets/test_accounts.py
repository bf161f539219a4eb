"""What a person's window holds and what is left, as a publisher tells it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, Recorded

from wevent import Dynamic, Fixed, Register, Slot, dpbd, pbd, uniform
from wevent.errors import UnknownUser
from wevent.units import to_epsilon


@pytest.mark.parametrize("fast", FAST)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 5))
@settings(deadline=None, max_examples=20)
def test_fixed_and_dynamic_accounts(fast: bool, places: list[int], window: int) -> None:
    """After every slot `spent` is the sum of the charges of the last w - 1 slots, and the room is what they leave."""
    for build, requirement in ((pbd, Fixed(2, window)), (dpbd, Dynamic((2, window)))):
        publisher = build(Register.from_rows({"user-0": requirement}), 3, noise=Recorded(1), fast=fast)
        charges: list[int] = []
        for number, place in enumerate(places, start=1):
            publisher.step(Slot(number, {"user-0": place}))
            assert publisher.trace is not None
            charges.append(int(publisher.trace.spent[publisher.members.rows()[0]]))
            held = sum(charges[len(charges) - min(window - 1, len(charges)) :])
            assert publisher.spent("user-0") == to_epsilon(held)
            assert publisher.remaining("user-0") <= 2 - publisher.spent("user-0")
            if isinstance(requirement, Fixed):
                assert publisher.remaining("user-0") == 2 - publisher.spent("user-0")


def test_changes_count_the_past() -> None:
    """A new requirement begins with the old spends; a person who is not registered is refused without a name."""
    publisher = uniform(Register.from_rows({"user-0": Fixed(1, 4), "user-1": Fixed(1, 4)}), 2, noise=Recorded(1))
    assert (publisher.spent("user-0"), publisher.remaining("user-0")) == (Decimal(0), Decimal(1))
    publisher.step(Slot(1, np.array([0, 1])))
    assert publisher.spent("user-1") == Decimal("0.25")
    assert publisher.remaining("user-1") == Decimal("0.75")
    publisher.leave("user-1")
    for call in (publisher.spent, publisher.remaining):
        with pytest.raises(UnknownUser) as caught:
            call("user-1")
        assert "user-1" not in str(caught.value)
    moved = pbd(Register.from_rows({"user-0": Fixed(2, 4)}), 2, noise=Recorded(1))
    moved.step(Slot(1, np.array([0])))
    before = moved.spent("user-0")
    moved.change("user-0", Fixed(1, 2))
    assert moved.spent("user-0") == before > 0
    assert moved.remaining("user-0") <= 1 - before
