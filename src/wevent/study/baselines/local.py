"""Collects what people report through a frequency oracle, for all baselines of local privacy.

Nobody is trusted: everybody hides where they are before it leaves them. Being absent is one more symbol, so that
presence is hidden as well, unless everybody is declared to be in some cell in every slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from wevent import Register, Slot
from wevent.errors import EmptyRegister, InvalidSetting, WrongShape
from wevent.extend import Counts
from wevent.study.baselines.base import Baseline
from wevent.study.baselines.oracle import Floats, FrequencyOracle, kind_for


@dataclass(frozen=True, slots=True)
class LocalEstimate:
    """Counts of everybody registered, estimated from the reports of some people (axes: cell).

    Attributes:
        counts: unbiased, if the people who report are like all others.
        variance: that of the reports; that of the choice of reporters is not in it.
    """

    counts: Floats = field(repr=False)
    variance: Floats = field(repr=False)


class LocalBaseline(Baseline):
    """A baseline that sees nothing but reports.

    Guarantees:
        A spend of epsilon hides presence and whereabouts in that slot at epsilon, for either kind of neighbours.
        Every registered person has a symbol in every slot; data in which a person has none or two are refused before
        anything is spent.
    """

    def check(self, register: Register) -> None:
        """Refuse several cells per person, and an empty register."""
        if self.privacy.contributions != 1:
            declared = f"the settings declare {self.privacy.contributions} contributions"
            raise InvalidSetting(f"{self.name}: people report one cell per slot, but {declared}; declare 1")
        if not register.sizes.any():
            raise EmptyRegister(f"{self.name}: nobody is registered, so nobody can report")

    @property
    def symbols(self) -> int:
        """How many symbols a report chooses from: the cells and, unless the stream is complete, being absent."""
        return len(self.domain) + (not self.complete)

    def collect(self, counts: Counts, budget: int) -> LocalEstimate:
        """Let so many people of each symbol report with a budget in units; scaled up to everybody registered."""
        reporters = counts.sum(keepdims=True)
        oracle = _oracle(budget, self.symbols)
        estimate = oracle.read(oracle.supports(counts[None, :], self.noise), reporters)
        scale, cells = self.people / int(reporters[0]), len(self.domain)
        return LocalEstimate(estimate.counts[0, :cells] * scale, estimate.variance[0, :cells] * scale**2)

    def error(self, reporters: int, budget: int) -> float:
        """Variance per symbol of the estimate from so many people; public (Var(ε, n) of [Ren22], over all symbols)."""
        return float(_oracle(budget, self.symbols).error(np.array([reporters]))[0]) * (self.people / reporters) ** 2

    def distance(self, estimate: LocalEstimate) -> float:
        """How far the stream is from what is shown: mean square per cell less what reports add, dis of [Ren22]."""
        return float(np.mean((estimate.counts - self.shown) ** 2 - estimate.variance))

    def _read(self, slot: Slot) -> Counts:
        """Whole symbols instead of cells: counts of shape (row, symbol), or the symbol of each person."""
        data = super()._read(slot)
        people = self.feeds == "people"
        absent = data < 0 if people else self.sizes - data.sum(axis=1)
        if not self.complete:
            return np.where(absent, self.symbols - 1, data) if people else np.column_stack([data, absent])
        if absent.any():
            said = "the stream is declared complete, but not everybody is in a cell; leave `complete` out"
            raise WrongShape(f"slot {slot.number}: {said}. Nothing was spent.", slot=slot.number)
        return data


@lru_cache(maxsize=256)
def _oracle(budget: int, symbols: int) -> FrequencyOracle:
    """The better oracle for one group with a budget in units."""
    return kind_for(budget, symbols)(np.array([budget], np.int64), symbols)
