"""Reads budgets as integer units of 10⁻⁹ ε, rounded down.

Budgets are counted like money: in int64 units, rounded down when they are read, without any tolerance afterwards
(SPEC §7). Noise scales are rounded up in `noise.rounding`.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidRequirement

Units = npt.NDArray[np.int64]
"""Budgets of many rows, in nano-ε."""

NANO = 10**9
"""Units in one ε."""

MAX_EPSILON = 100
"""The largest epsilon that may be required."""

MAX_WINDOW = 2**20
"""The longest window, in slots, that may be required."""

EXACT = Context(prec=60)
"""For budgets in decimal, independent of the precision that the calling program has set."""

UNBOUNDED = 2**62
"""Stands for "no limit" in arrays of units; larger than any budget, and safe to add to one."""


def to_units(epsilon: float | int | str | Decimal) -> int:
    """Read one budget, through its decimal digits and rounded down to units.

    Guarantees:
        The result times 10⁻⁹ is at most the decimal that was written, and less than one unit below it.
        Anything that is not a finite number above 0 and at most 100 raises `InvalidRequirement`.
    """
    if isinstance(epsilon, bool | np.bool_):
        raise InvalidRequirement("epsilon must be a number, got a truth value", value="bool")
    try:
        written = Decimal(repr(float(epsilon)) if isinstance(epsilon, float | np.floating) else str(epsilon))
    except (InvalidOperation, ValueError):
        raise InvalidRequirement(f"epsilon must be a number, got {_kind(epsilon)}", value=_kind(epsilon)) from None
    if not written.is_finite():
        raise InvalidRequirement(f"epsilon must be finite, got {written}", value=str(written))
    if written <= 0 or written > MAX_EPSILON:
        raise InvalidRequirement(
            f"epsilon must be above 0 and at most {MAX_EPSILON}, got {written}", value=str(written)
        )
    units = int(written.quantize(Decimal("1e-9"), ROUND_FLOOR, EXACT).scaleb(9, EXACT))
    if units == 0:
        raise InvalidRequirement(f"epsilon must be at least one unit of 1e-9, got {written}", value=str(written))
    return units


def to_units_array(epsilon: npt.ArrayLike) -> Units:
    """Read many budgets at once.

    Guarantees:
        For every element the same result, or an error, as `to_units`.
    """
    given = np.asarray(epsilon)
    if given.dtype.kind in "iu":
        given = given.astype(np.float64)
    if given.dtype.kind != "f":
        raise InvalidRequirement(
            f"epsilon must be an array of numbers, got dtype {given.dtype}", value=str(given.dtype)
        )
    given = given.astype(np.float64, copy=False).ravel()
    wrong = ~((given > 0) & (given <= MAX_EPSILON))
    if wrong.any():
        to_units(float(given[np.argmax(wrong)]))  # raises, with the value that is wrong
    scaled = given * NANO
    nearest = np.rint(scaled)
    units = np.floor(scaled)
    # The decimal digits of `given` are those of `nearest` exactly when dividing gives it back.
    units = np.where(nearest / NANO == given, nearest, units).astype(np.int64)
    unsure = (np.abs(scaled - nearest) < 1e-4) & (nearest / NANO != given)
    for place in np.flatnonzero(unsure):
        units[place] = to_units(float(given[place]))
    if (units < 1).any():
        to_units(float(given[np.argmin(units)]))
    return units


def to_window(window: Any) -> int:
    """Read one window length in slots, an integer from 1 to 2²⁰."""
    integral = isinstance(window, int | np.integer) and not isinstance(window, bool)
    if not integral and isinstance(window, float | np.floating):
        integral = float(window).is_integer()
    if not integral:
        shown = window if isinstance(window, float) else _kind(window)
        raise InvalidRequirement(f"window must be a whole number of slots, got {shown}", value=str(shown))
    if not 1 <= int(window) <= MAX_WINDOW:
        raise InvalidRequirement(
            f"window must be from 1 to {MAX_WINDOW} slots, got {int(window)}", value=str(int(window))
        )
    return int(window)


def to_epsilon(units: int) -> Decimal:
    """Units back to ε, exactly."""
    return Decimal(int(units)).scaleb(-9, EXACT)


def as_fraction(units: int) -> Fraction:
    """Units as an exact ε for the noise."""
    return Fraction(int(units), NANO)


def show(units: int | float) -> str:
    """Units as ε for people, for messages and tables."""
    if units >= UNBOUNDED // 2 or math.isinf(units):
        return "unbounded"
    return f"{to_epsilon(int(units)).normalize(EXACT):f}"


def _kind(value: object) -> str:
    return type(value).__name__
