"""Repeats the generator `Random` of Java: the same doubles and Gaussian numbers for the same seed.

The paper's random walk is seeded with Java's generator ([Du25] "Datasets"), so only the same one gives the same walk.
"""

from __future__ import annotations

import math

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


class JavaRandom:
    """A linear congruential generator of 48 bits, as Java specifies `java.util.Random` up to version 17.

    Guarantees:
        The doubles are Java's to the last bit; Gaussian numbers agree but for the last bits of the logarithm.
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK
        self._spare: float | None = None

    def next_double(self) -> float:
        """A double from 0 to 1, from 53 random bits."""
        return ((self._bits(26) << 27) + self._bits(27)) * 2.0**-53

    def next_gaussian(self) -> float:
        """A standard normal number, by the polar method; every second call returns the other one of a pair."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        while True:
            x, y = 2 * self.next_double() - 1, 2 * self.next_double() - 1
            square = x * x + y * y
            if 0 < square < 1:
                break
        stretch = math.sqrt(-2 * math.log(square) / square)
        self._spare = y * stretch
        return x * stretch

    def _bits(self, count: int) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return self._state >> (48 - count)
