"""The noise scale is rounded up, and no further than needed."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.sources import Scripted

from wevent.errors import InvalidSetting, NotExact, WeventError
from wevent.noise import round_up


@given(st.integers(1, 10**11), st.integers(1, 1000))
def test_scale_covers_budget(threshold: int, sensitivity: int) -> None:
    """A draw for T units has scale·T ≥ s·10⁹ in integers, and the double below breaks that."""
    source = Scripted()
    source.laplace([0], sensitivity=sensitivity, epsilon=Fraction(threshold, 10**9))
    scale = source.scale
    assert scale == round_up(sensitivity / Fraction(threshold, 10**9))
    assert Fraction(scale) * threshold >= sensitivity * 10**9
    assert Fraction(math.nextafter(scale, -math.inf)) * threshold < sensitivity * 10**9


@given(st.fractions(min_value=Fraction(1, 10**400), max_value=10**300).filter(lambda scale: scale > 0))
def test_round_up_is_least(scale: Fraction) -> None:
    """The result is the least double that is not below the scale."""
    rounded = round_up(scale)
    assert Fraction(rounded) >= scale
    assert Fraction(math.nextafter(rounded, -math.inf)) < scale


@given(st.floats(min_value=5e-324, max_value=1e300))
def test_round_up_keeps_doubles(double: float) -> None:
    """A scale that is a double stays; one a hair above becomes the next double."""
    assert round_up(Fraction(double)) == double
    assert round_up(Fraction(double) + Fraction(1, 10**700)) == math.nextafter(double, math.inf)


def test_round_up_at_the_ends() -> None:
    """The largest double is reached, nothing above it; below the least one the result is the least one."""
    largest = Fraction(sys.float_info.max)
    assert round_up(largest) == sys.float_info.max
    for above in (largest + 1, largest * 2, Fraction(10**400)):
        with pytest.raises(InvalidSetting, match="largest double"):
            round_up(above)
    assert round_up(Fraction(1, 10**400)) == 5e-324


@pytest.mark.parametrize(
    ("scale", "kind", "match"),
    [
        *((scale, InvalidSetting, "above 0") for scale in (Fraction(0), Fraction(-1, 3))),
        *((scale, NotExact, "exact Fraction") for scale in (math.inf, math.nan, 0.0, 1.5, 2, None, "1/3")),
    ],
)
def test_round_up_refuses(scale: Any, kind: type[WeventError], match: str) -> None:
    """A scale that is not a Fraction above 0 is refused."""
    with pytest.raises(kind, match=match):
        round_up(scale)
