"""The requirements of a study's users."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wevent.cohorts.requirement import Fixed
from wevent.errors import InvalidSetting
from wevent.study.requirements import EPSILONS, WINDOWS, draw_types, two_types
from wevent.units import to_units


@given(
    seed=st.integers(0, 2**62),
    users=st.integers(1, 3_000),
    epsilon=st.sampled_from(EPSILONS),
    window=st.sampled_from(WINDOWS),
    slot=st.integers(1, 10**6),
)
def test_nobody_asks_for_more_than_the_strictest(seed: int, users: int, epsilon: float, window: int, slot: int) -> None:
    """Epsilons from E on, windows up to w, fixed and dynamic; a type is never stricter than its own."""
    requirements = draw_types(seed, users, epsilon, window)
    assert requirements.common == Fixed(epsilon, window)
    assert requirements.type_of.size == users and (np.diff(requirements.type_of) >= 0).all()
    assert requirements.sizes.sum() == users and (requirements.sizes > 0).all()
    assert len(requirements.sizes) == len(requirements.fixed) <= 10
    assert all(own.units >= to_units(epsilon) and own.window <= window for own in requirements.fixed)
    assert requirements.changes is not None
    changed = requirements.changes.at(slot)
    assert [kind for kind, _ in changed] == list(range(len(requirements.fixed)))
    for (_, required), own in zip(changed, requirements.fixed, strict=True):
        assert required.forward.units >= own.units and required.forward.window <= own.window
        assert required.backward.units == to_units(10) and required.backward.window == 1


def test_types_are_blocks_of_equal_size() -> None:
    """Ten contiguous blocks of ceil(N/10)."""
    requirements = draw_types(1, 4_043, 0.6, 120)
    assert requirements.sizes.tolist() == [405] * 9 + [398]


def test_every_value_is_drawn_equally_often() -> None:
    """Budget and window of a type are uniform over what E and w leave; false alarm below 10⁻⁶."""
    drawn = [own for seed in range(400) for own in draw_types(seed, 10, 0.6, 120).fixed]
    cells = {(str(e), w): 0 for e in (0.6, 0.8, 1.0) for w in (40, 80, 120)}
    for own in drawn:
        cells[f"{float(own.epsilon)}", own.window] += 1
    expected = len(drawn) / 9
    chi = sum((many - expected) ** 2 / expected for many in cells.values())
    assert chi < 45  # 8 degrees of freedom


def test_dynamic_requirements_are_drawn_anew_in_each_slot_and_can_be_drawn_again() -> None:
    """A slot's draw depends on seed and slot alone, and differs from slot to slot."""
    changes = draw_types(5, 100, 0.2, 200).changes
    assert changes is not None
    required = [changes.at(slot) for slot in range(1, 300)]
    assert changes.at(17) == required[16]
    assert len({requirement for slot in required for _, requirement in slot}) > 10
    assert sum(own == other for own, other in pairwise(required)) == 0


def test_two_types_share_the_users() -> None:
    """The first type has its share; the common requirement is the strictest of both."""
    requirements = two_types(1, 1_000, (1.0, 120), (0.6, 120), 0.3)
    assert requirements.sizes.tolist() == [300, 700]
    assert requirements.fixed == (Fixed(1, 120), Fixed("0.6", 120))
    assert requirements.common == Fixed("0.6", 120)
    assert two_types(1, 1_000, (0.6, 40), (0.6, 120), 0.5).common == Fixed("0.6", 120)
    with pytest.raises(InvalidSetting, match="between 0 and 1"):
        two_types(1, 1_000, (1.0, 120), (0.6, 120), 1.0)
