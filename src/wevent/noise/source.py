"""Draws coins and Laplace noise exactly, in integers, from random words that a subclass supplies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wevent.errors import InvalidSetting, WrongShape
from wevent.noise.inputs import integer, integers, positive_fraction
from wevent.noise.rounding import laplace_scale

PROBABILITY_BITS = 62
"""Probabilities are integer multiples of 2⁻⁶²."""

_CERTAIN = 1 << PROBABILITY_BITS
_BLOCK_WORDS = 1 << 18
"""Random words of 8 bytes that a binomial draw has in memory at a time."""


class Noise(ABC):
    """Exact integer algorithms over random bits, which a subclass supplies."""

    seeded: ClassVar[bool]
    """Whether the draws repeat for a seed; such noise protects nobody."""

    @abstractmethod
    def rekey(self) -> None:
        """Begin a new stream of bits; called at the start of every slot."""

    @abstractmethod
    def _words(self, count: int) -> NDArray[np.uint64]:
        """Fresh random words, in an array that the caller may overwrite."""

    @abstractmethod
    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Values plus discrete Laplace noise, stopped at the ends of int64."""

    def laplace(self, values: ArrayLike, *, sensitivity: int, epsilon: Fraction) -> NDArray[np.int64]:
        """Add independent discrete Laplace noise of scale `round_up(sensitivity / epsilon)` to each element.

        Args:
            values: Integers (axes: cell).
            sensitivity: The most, in sum over all cells, by which neighbours can differ.
            epsilon: The exact budget of this draw.

        Guarantees:
            Noise k has probability (1 - q) / (1 + q) · q^|k|, q = exp(-1 / scale), in each element
            independently: exactly with `SecureNoise`, up to the errors of doubles with `SeededNoise`.
            A sum outside int64 becomes the nearest int64; `values` itself is left as it is.
            Values that are not integers (floats, truth values and objects included), a sensitivity
            that is not an int and an epsilon that is not a `Fraction` raise `NotExact`; a sensitivity below 1
            and an epsilon not above 0 raise `InvalidSetting`. No message shows a value.
        """
        given = integers(values, "values")
        if given.ndim != 1:
            raise WrongShape(f"values must have one axis, the cells, got {given.ndim}. Nothing was drawn.")
        exact = positive_fraction(epsilon, "epsilon")
        return self._add_laplace(given, laplace_scale(integer(sensitivity, "sensitivity", least=1), exact))

    def binomial(self, counts: ArrayLike, probabilities: ArrayLike) -> NDArray[np.int64]:
        """Keep each of `counts` things with its probability, and count the kept ones.

        Every thing compares its own uniform 62-bit number with the probability, highest bit first. Of k
        things that agree so far, the popcount of k random bits have 0 as their next bit. If the bit of the
        probability is 1 these are below it, so kept, and the others stay undecided; if it is 0 these stay
        undecided and the others are above it. That takes about two random bits per thing.

        Args:
            counts: Integers, at least 0.
            probabilities: Integer multiples of 2⁻⁶², from 0 to 2⁶²; they broadcast against `counts`.

        Guarantees:
            Element i is an exact Binomial(counts[i], probabilities[i] / 2⁶²) draw, independent of the others.
            The result has the broadcast shape; probability 0 keeps nothing and 2⁶² keeps everything.
            At most 2 MB of random words exist at a time, whatever the counts.
            Floats, truth values and objects raise `NotExact`, numbers out of range `InvalidSetting`, shapes
            that do not broadcast `WrongShape`. No message shows a value.
        """
        things, chances = integers(counts, "counts"), _chances(probabilities)
        if things.size and things.min() < 0:
            raise InvalidSetting("counts must be at least 0, and not all of them are. Nothing was drawn.")
        try:
            np.broadcast_shapes(things.shape, chances.shape)
        except ValueError:
            got = f"{things.shape} and {chances.shape}"
            raise WrongShape(f"shapes of counts and probabilities must broadcast, got {got}") from None
        return self._keep(things, chances)

    def _keep(self, things: NDArray[np.int64], chances: NDArray[np.int64]) -> NDArray[np.int64]:
        """The binomial draw itself, for arrays that broadcast."""
        things, chances = np.broadcast_arrays(things, chances)
        kept = np.where(chances == _CERTAIN, things, 0).ravel()
        undecided, rest = things.ravel(), chances.ravel() & (_CERTAIN - 1)
        place = np.arange(kept.size)
        # Once the rest of the probability is 0, nothing that agrees so far can be below it.
        while (live := (undecided > 0) & (rest > 0)).any():
            place, undecided, rest = place[live], undecided[live], rest[live]
            low = self._heads(undecided)
            high_bit = rest >= _CERTAIN >> 1
            kept[place] += low * high_bit
            undecided = np.where(high_bit, undecided - low, low)
            rest = (rest << 1) & (_CERTAIN - 1)
        return kept.reshape(things.shape)

    def bernoulli(self, probabilities: ArrayLike) -> NDArray[np.bool_]:
        """Toss one coin per element of `probabilities`, integer multiples of 2⁻⁶² from 0 to 2⁶².

        Guarantees:
            Element i is True with probability exactly probabilities[i] / 2⁶², independent of the others.
            The result has the shape of `probabilities`; refusals are those of `binomial`.
        """
        chances = _chances(probabilities)
        drawn = self._words(chances.size).reshape(chances.shape) >> np.uint64(64 - PROBABILITY_BITS)
        return np.asarray(drawn < chances.astype(np.uint64))

    def _heads(self, coins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Binomial(coins, 1/2) for each element, all at least 1: the popcount of so many random bits."""
        words = ((coins - 1) >> 6) + 1  # every element begins at a word of its own
        ends = np.cumsum(words)
        starts = ends - words
        masks = np.uint64(2**64 - 1) >> (-coins & 63).astype(np.uint64)
        heads = np.zeros_like(coins)
        for first in range(0, int(ends[-1]), _BLOCK_WORDS):
            last = min(first + _BLOCK_WORDS, int(ends[-1]))
            i, j = np.searchsorted(ends, first, "right"), np.searchsorted(starts, last, "left")
            closed = j - int(ends[j - 1] > last)  # the last element may go on in the next block
            bits = self._words(last - first)
            bits[ends[i:closed] - 1 - first] &= masks[i:closed]
            ones = np.bitwise_count(bits)
            heads[i:j] += np.add.reduceat(ones, np.maximum(starts[i:j] - first, 0), dtype=np.int64)
        return heads


def _chances(probabilities: ArrayLike) -> NDArray[np.int64]:
    chances = integers(probabilities, "probabilities")
    if chances.size and (chances.min() < 0 or chances.max() > _CERTAIN):
        raise InvalidSetting(f"probabilities must be from 0 to 2**{PROBABILITY_BITS}. Nothing was drawn.")
    return chances
