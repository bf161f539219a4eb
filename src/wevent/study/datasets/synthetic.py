"""Draws everybody's bit in every slot from a series of probabilities."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wevent.errors import InvalidSetting
from wevent.study.datasets.stream import DataOptions, Places

SLOTS = 10_000
PEOPLE = 10_000

Probabilities = npt.NDArray[np.float64]
"""How likely everybody's bit is 1 (axes: slot)."""

Series = Callable[[int, bool], Probabilities]
"""Takes the number of slots and whether to round as the released code did; gives the probabilities."""

_HIGH, _LOW = 16, 48  # a 64-bit number is drawn as 16 bits and, where these do not decide, 48 more


@dataclass(frozen=True, slots=True)
class SyntheticStream:
    """A stream in which every person's bit is drawn anew in every slot.

    Attributes:
        chances: how likely a bit is 1 (axes: slot).

    Guarantees:
        A bit is 1 with probability floor(2⁶⁴·p) / 2⁶⁴, independently of all other bits.
        The same name, seed, users and probabilities give the same bits.
        A shorter stream is the beginning of a longer one.
    """

    name: str
    chances: Probabilities = field(repr=False)
    users: int = PEOPLE
    cells: tuple[str, ...] = ("0", "1")
    complete: bool = True
    plane: tuple[int, int] | None = None

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.chances)

    def places(self, seed: int) -> Iterator[Places]:
        """Slot after slot everybody's bit; data sets of different names draw different bits for one seed."""
        random = np.random.Generator(np.random.SFC64([seed, zlib.crc32(self.name.encode())]))
        words = -(-self.users * _HIGH // 64)
        for chance in self.chances.tolist():
            high, low = divmod(int(chance * 2.0**64), 1 << _LOW)  # a double times a power of 2 is exact
            drawn = random.integers(0, 2**64 - 1, words, np.uint64, endpoint=True).view(np.uint16)[: self.users]
            ones = drawn < high
            # A user who drew exactly the first 16 bits of the probability is undecided: one in 65,536.
            undecided = np.flatnonzero(drawn == high)
            if undecided.size:
                ones[undecided] = random.integers(0, 1 << _LOW, undecided.size, np.uint64) < low
            yield ones.astype(np.int64)


def round_half_up(values: Probabilities) -> Probabilities:
    """To two decimals, as the released code rounds."""
    return np.floor(values * 100 + 0.5) / 100


def open_series(name: str, series: Series, options: DataOptions) -> SyntheticStream:
    """Two cells, 0 and 1, and any number of slots, since a series has no end; by default 10,000 people and slots.

    Guarantees:
        Any number of cells but 2 raises `InvalidSetting`.
    """
    if options.cells not in (None, 2):
        raise InvalidSetting(f"{name} has 2 cells, got cells={options.cells}; leave the option out", known=(2,))
    return SyntheticStream(name, series(options.slots or SLOTS, False), options.users or PEOPLE)
