"""Sources of noise and helpers for the tests of `wevent.noise`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from wevent.errors import WeventError
from wevent.noise import PROBABILITY_BITS, Noise, SecureNoise, SeededNoise, StudyNoise

CERTAIN = 2**PROBABILITY_BITS
SECRET = 918273645
"""A value that no message may show."""

SOURCES: dict[str, Callable[[], Noise]] = {
    "secure": SecureNoise,
    "seeded": lambda: SeededNoise(7),
    "study": lambda: StudyNoise(7),
}


class Scripted(Noise):
    """Draws the words of a script, so that a draw can be checked bit by bit; keeps the Laplace scale."""

    seeded = True

    def __init__(self, script: Iterable[int] = ()) -> None:
        self.script: Iterator[int] = iter(script)
        self.scale = 0.0

    def rekey(self) -> None: ...

    def _words(self, count: int) -> NDArray[np.uint64]:
        return np.array([next(self.script) for _ in range(count)], dtype=np.uint64)

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.scale = scale
        return values


def words(source: Noise, count: int = 4) -> list[int]:
    return [int(word) for word in source._words(count)]


@contextmanager
def refused(kind: type[WeventError], name: str) -> Iterator[None]:
    """What happens inside is refused in this way; the message names the argument and shows no value."""
    with pytest.raises(kind, match=name) as caught:
        yield
    said = str(caught.value) + repr(caught.value.fields)
    assert str(SECRET) not in said
    assert str(2**63) not in said
