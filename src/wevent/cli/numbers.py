"""Numbers from the shell: text comes in, a number within limits or a message that names them goes out."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within limits."""
    limits = f"a whole number from {least:,} to {most:,}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {limits}, got {text!r}") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be {limits}, got {number}")
        return number

    return read


def positive(most: float) -> Callable[[str], float]:
    """A reader of numbers above 0, up to a limit."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 < number <= most:  # refuses nan too
            raise argparse.ArgumentTypeError(f"must be a number above 0 and at most {most:g}, got {text!r}")
        return number

    return read
