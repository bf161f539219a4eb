"""Checks what is given to the noise: exact numbers only; nothing is ever rounded, and no message shows a value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wevent.errors import InvalidSetting, NotExact


def integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Integer arrays and sequences of ints as int64."""
    got: np.dtype[Any] | str
    if isinstance(values, np.ndarray):
        given, got = np.asarray(values), values.dtype
        exact = given.dtype.kind in "iu" and np.can_cast(given.dtype, np.int64)
    else:
        given, got = np.asarray(values, dtype=object), type(values).__name__
        exact = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in given.flat)
    try:
        if exact:
            return given.astype(np.int64, copy=False)
    except OverflowError:
        got = "larger ones"
    got = f"dtype {got}" if isinstance(got, np.dtype) else got
    raise NotExact(f"{name} must be integers that fit int64, got {got}. Nothing was drawn.", got=got)


def integer(value: object, name: str, *, least: int) -> int:
    """An int that is at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        got = type(value).__name__
        raise NotExact(f"{name} must be an int, at least {least}, got {got}. Nothing was drawn.", got=got)
    if value < least:
        raise InvalidSetting(f"{name} must be at least {least}, and is below. Nothing was drawn.")
    return int(value)


def positive_fraction(value: object, name: str) -> Fraction:
    """A `Fraction` above 0."""
    if not isinstance(value, Fraction):
        got = type(value).__name__
        raise NotExact(f"{name} must be an exact Fraction above 0, got {got}. Nothing was drawn.", got=got)
    if value <= 0:
        raise InvalidSetting(f"{name} must be above 0, and is not. Nothing was drawn.")
    return value
