"""Reads and shows lengths of time, such as `15 min`."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
"""Names of units and their microseconds."""

_WORDS = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([a-z]{1,3})")


def to_microseconds(text: str) -> int:
    """Read a length of time, such as `15 min`, `1.5 h` or `0 s`; anything else raises `ValueError`."""
    found = _WORDS.fullmatch(text.strip())
    if found is None or found[2] not in UNITS:
        raise ValueError(f"a length of time is a number and one of {', '.join(UNITS)}, as in '15 min'")
    length = Decimal(found[1]) * UNITS[found[2]]
    if length != int(length):
        raise ValueError("a length of time must be whole microseconds")
    return int(length)


def show_duration(microseconds: int) -> str:
    """The same in the largest unit that gives a whole number."""
    name = next(unit for unit in reversed(UNITS) if microseconds % UNITS[unit] == 0)
    return f"{microseconds // UNITS[name]} {name}" if microseconds else "0 s"
