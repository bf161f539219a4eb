"""What the tests of central baselines share: streams of counts, and what a run shows, charges and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest
from tests.study.baselines.noises import Losing, LostError

from wevent import Decision, Fixed, Register, Slot
from wevent.noise import SeededNoise
from wevent.settings import Privacy
from wevent.study.baselines.base import Baseline

B = TypeVar("B", bound=Baseline)
PEOPLE = 100_000
NANO = 10**9
sensitivities = pytest.mark.parametrize(("neighbours", "s"), [("add_remove", 1), ("substitution", 2)])
"""Both kinds of neighbours, with the sensitivity of one histogram."""


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
    kind: type[B], epsilon: Any, window: int, noise: SeededNoise, cells: int = 2, neighbours: Any = "add_remove"
) -> B:
    """A baseline for one large group."""
    register = Register().with_group("all", Fixed(epsilon, window), PEOPLE)
    return kind(register, cells, noise=noise, privacy=Privacy(neighbours=neighbours))


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


def quick_and_naive(
    kind: type[Baseline],
    naive: Callable[[int, int, list[list[int]], Losing], BaselineRun],
    epsilon: str,
    window: int,
    stream: list[list[int]],
    seed: int,
) -> tuple[BaselineRun, BaselineRun]:
    """A baseline and the rules as written, on the same stream and noise, a tenth of the slots lost."""
    lost = set(np.random.default_rng(seed).choice(len(stream), len(stream) // 10, replace=False).tolist())
    quick = run(built(kind, epsilon, window, Losing(seed, lost), len(stream[0])), stream)
    return quick, naive(int(Fraction(epsilon) * NANO), window, stream, Losing(seed, lost))
