"""What the tests of local baselines share: people in rows, and what a run of a baseline shows and spends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from tests.support import fixed

from wevent.budgets.feasibility import FixedPromise, worst
from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Fixed
from wevent.events.slot import Slot
from wevent.releases.release import Decision
from wevent.study.baselines.base import Baseline

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BaselineRun:
    """Axes: slot, cell; slot; slot, row of the ledger."""

    counts: Floats
    decisions: list[Decision]
    spends: Ints

    @property
    def letters(self) -> str:
        """The decisions, one letter each."""
        return "".join(decision[0] for decision in self.decisions)

    def worst(self, requirements: Sequence[Fixed]) -> Fraction:
        """The fullest window of any row, by the judge of the package; one requirement for each row, or one for all."""
        rows = self.spends.shape[1]
        required = list(requirements) * rows if len(requirements) == 1 else requirements
        kept = zip(self.spends.T.tolist(), required, strict=True)
        return max(worst(spends, [FixedPromise(own.units, own.window, 1)]) for spends, own in kept)


def alike(epsilon: int, window: int, people: int = 1000) -> Register:
    """Everybody requires the same."""
    return Register.from_levels([fixed(epsilon, window)], np.zeros(people, np.int64))


def per_row(places: Ints, register: Register, cells: int) -> Ints:
    """Counts of shape (row, cell)."""
    counts = np.zeros((register.sizes.size, cells), np.int64)
    present = places >= 0
    np.add.at(counts, (register.rows[present], places[present]), 1)
    return counts


def slot_for(baseline: Baseline, number: int, places: Ints, register: Register) -> Slot:
    """The same people in the form that a baseline takes."""
    if baseline.feeds == "people":
        return Slot(number, places)
    return Slot(number, counts=per_row(places, register, len(baseline.domain)))


def run(baseline: Baseline, register: Register, stream: Iterable[Ints]) -> BaselineRun:
    """Step through a stream of places, from the slot that is due."""
    counts, decisions, spends = [], [], []
    for number, places in enumerate(stream, start=baseline.ledger.slot):
        shown = baseline.step(slot_for(baseline, number, places, register))
        assert baseline.trace is not None
        counts.append(shown.counts)
        decisions.append(shown.decision)
        spends.append(baseline.trace.spent)
    return BaselineRun(np.array(counts), decisions, np.array(spends))
