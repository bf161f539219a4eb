"""Rounds noise scales up to doubles, so that no draw costs more than its budget (SPEC §7)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from wevent.errors import InvalidSetting
from wevent.noise.inputs import positive_fraction


def round_up(scale: Fraction) -> float:
    """The least double that is not below an exact scale.

    Guarantees:
        The exact value of the result is at least `scale`; that of the next double below is less.
        A scale that is not a `Fraction` raises `NotExact`; one that is not above 0, or is above the largest
        double, raises `InvalidSetting`.
    """
    exact = positive_fraction(scale, "the noise scale")
    try:
        rounded = float(exact)
        while Fraction(rounded) < exact:
            rounded = math.nextafter(rounded, math.inf)
    except OverflowError:  # from float(), or from the exact value of infinity
        raise InvalidSetting("the noise scale is above the largest double; enlarge epsilon") from None
    while Fraction(below := math.nextafter(rounded, 0.0)) >= exact:
        rounded = below
    return rounded


@lru_cache(maxsize=64)  # measuring change needs the same scale in every slot
def laplace_scale(sensitivity: int, epsilon: Fraction) -> float:
    """The scale sensitivity/epsilon of Laplace noise, rounded up."""
    return round_up(sensitivity / epsilon)
