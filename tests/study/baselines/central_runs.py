"""What the tests of central baselines share: streams of counts, and what a run shows, charges and draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent import Decision, Fixed, Register, Slot
from wevent.noise import SeededNoise
from wevent.settings import Privacy
from wevent.study.baselines.base import Baseline

Ints = npt.NDArray[np.int64]
PEOPLE = 100_000


class Recording(SeededNoise):
    """Seeded noise that remembers sensitivity, budget and values of each Laplace draw."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.draws: list[tuple[int, Fraction, list[int]]] = []

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        self.draws.append((sensitivity, epsilon, np.asarray(values).tolist()))
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)


class Silent(Recording):
    """Noise that adds nothing."""

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        return np.array(values, np.int64)


class Scripted(Recording):
    """Noise that adds the numbers of a list, one for each element, and then nothing."""

    def __init__(self, script: Iterable[int]) -> None:
        super().__init__()
        self._script = iter(script)

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)
        return np.array([value + next(self._script, 0) for value in np.asarray(values).tolist()], np.int64)


class LostError(Exception):
    """A draw that goes wrong."""


class Losing(Recording):
    """Seeded noise that fails in the first draw of chosen slots, without using up randomness."""

    def __init__(self, seed: int, slots: set[int]) -> None:
        super().__init__(seed)
        self.slots, self.slot = slots, 0

    def rekey(self) -> None:
        self.slot += 1

    def laplace(self, values: npt.ArrayLike, *, sensitivity: int, epsilon: Fraction) -> Ints:
        if self.slot in self.slots:
            raise LostError
        return super().laplace(values, sensitivity=sensitivity, epsilon=epsilon)


@dataclass(frozen=True)
class BaselineRun:
    """What came out, slot by slot."""

    counts: list[list[float]]
    decisions: list[Decision]
    spends: list[int]

    @property
    def published(self) -> list[int]:
        """Slots that were published."""
        return [slot for slot, decision in enumerate(self.decisions, 1) if decision is Decision.PUBLISHED]


def built(
    kind: type[Baseline], epsilon: Any, window: int, cells: int, noise: SeededNoise, privacy: Privacy | None = None
) -> Baseline:
    """A baseline for one large group."""
    register = Register().with_group("all", Fixed(epsilon, window), PEOPLE)
    return kind(register, cells, noise=noise, privacy=privacy)


def run(baseline: Baseline, stream: Iterable[Iterable[int]]) -> BaselineRun:
    """Step through a stream of counts; a slot that fails is lost."""
    counts, decisions, spends = [], [], []
    for number, row in enumerate(stream, start=baseline.ledger.slot):
        try:
            decisions.append(baseline.step(Slot(number, counts=np.array([list(row)], np.int64))).decision)
        except LostError:
            decisions.append(Decision.LOST)
        assert baseline.trace is not None and baseline.trace.spent.size == 1
        counts.append(baseline.shown.tolist())
        spends.append(int(baseline.trace.spent[0]))
    return BaselineRun(counts, decisions, spends)


def wander(slots: int, cells: int, seed: int, size: int = 300, step: int = 12) -> list[list[int]]:
    """Counts that walk at random, with a jump now and then."""
    rng = np.random.default_rng(seed)
    walk = size + np.cumsum(rng.integers(-step, step + 1, (slots, cells)), axis=0)
    walk += np.cumsum(rng.integers(-8 * step, 8 * step + 1, (slots, cells)) * (rng.random((slots, 1)) < 0.04), axis=0)
    table: list[list[int]] = np.clip(walk, 0, PEOPLE // cells).tolist()
    return table
