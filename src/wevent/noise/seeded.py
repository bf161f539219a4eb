"""Draws noise that repeats for a seed, for tests and the study; it protects nobody."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wevent.noise.inputs import integer
from wevent.noise.source import PROBABILITY_BITS, Noise

_SMALL = 2**50
"""Values and scales up to here cannot leave int64: noise of 2¹² scales never occurs."""


class SeededNoise(Noise):
    """Noise that repeats for a seed, for tests and the study: it protects nobody.

    Its coins are exact; its Laplace noise is the difference of two geometric variables, in doubles.

    Guarantees:
        The same seed and the same calls give the same draws; `rekey` changes nothing.
        The repr says that it is seeded and not private, and does not show the seed.
        A seed that is not an int raises `NotExact`, a negative one `InvalidSetting`.
    """

    seeded: ClassVar[bool] = True

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.Philox(integer(seed, "seed", least=0)))

    def rekey(self) -> None:
        """Do nothing: a seeded stream continues, so that a study can be repeated."""

    def _words(self, count: int) -> NDArray[np.uint64]:
        return self._random.integers(0, 2**64 - 1, size=count, dtype=np.uint64, endpoint=True)

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        more, less = self._random.geometric(-math.expm1(-1 / scale), size=(2, values.size))
        noise = more - less
        if scale > _SMALL or (values.size and max(abs(int(values.min())), abs(int(values.max()))) > _SMALL):
            ends = np.iinfo(np.int64)
            noise = np.clip(noise, ends.min - np.minimum(values, 0), ends.max - np.maximum(values, 0))
        return np.asarray(values + noise, dtype=np.int64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seeded, not private: for tests and study)"


class StudyNoise(SeededNoise):
    """Seeded noise for long studies: its binomial draws are numpy's, quick and in doubles.

    Guarantees:
        Its draws follow the laws of `SeededNoise`, up to the errors of doubles.
    """

    def _keep(self, things: NDArray[np.int64], chances: NDArray[np.int64]) -> NDArray[np.int64]:
        chances_in_doubles = np.ldexp(chances.astype(np.float64), -PROBABILITY_BITS)
        return np.asarray(self._random.binomial(things, chances_in_doubles), dtype=np.int64)
