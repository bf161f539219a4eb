"""What to show: evidence of publications comes in, counts with error bars for every slot go out.

`Unfiltered` shows the last evidence again and again. `StateSpace` runs a local level per cell and a bank of models of
how fast it moves. Both are functions of what is public, so that neither costs budget.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from wevent.cohorts.counting import Counts
from wevent.decisions.evidence import Evidence, Public
from wevent.releases.bank import Bank, Later, laplace_patience
from wevent.releases.bias import Correction
from wevent.releases.models import Floats, all_models


@dataclass(frozen=True, slots=True)
class Shown:
    """What a slot shows: counts and the root of their expected squared error (axes: cell).

    Attributes:
        evidence: of a publication, what was taken in, corrected if a contrast was measured.
    """

    counts: Counts | Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    evidence: Evidence | None = field(default=None, repr=False)


class Filter(Protocol):
    """Turns evidence into what is shown; one object per publisher, with public state only."""

    @property
    def reference(self) -> Counts:
        """What change is measured against: the last published counts, whole (axes: cell)."""
        ...

    @property
    def public(self) -> Public | None:
        """What is known of the counts, for choosing thresholds; None before the first publication (axes: cell)."""
        ...

    @property
    def reach(self) -> float:
        """How far the mean cell goes in a jump, lately; 0 before any."""
        ...

    def publish(self, slot: int, evidence: Evidence, people: int) -> Shown:
        """Take in a publication among so many registered people."""
        ...

    def disturb(self, jump: float) -> None:
        """Expect that the mean cell has just moved by about `jump`, a measured and paid number; 0 if not."""
        ...

    def repeat(self, slot: int) -> Shown:
        """A slot without one."""
        ...

    def keep(self, counts: Counts | Floats, standard_error: Floats) -> None:
        """Go on from what was published before, if that is all there is to know."""
        ...

    def forecast_error(self, intervals: Floats, noise: Floats, people: int, watched: bool = False) -> Floats | None:
        """Expected squared error of publishing every k-th slot with such noise; None if nothing is foretold.

        Args:
            intervals: k.
            noise: variance of a publication at each.
            people: how many a cell can hold.
            watched: whether change is measured in every slot, well enough to see jumps of the usual reach.
        """
        ...

    def copy(self) -> Self:
        """An independent view that knows the same."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays for `budgets.codec`."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        ...


class Unfiltered:
    """Shows the last publication until the next.

    Guarantees:
        Whole counts stay whole.
    """

    def __init__(self, cells: int) -> None:
        self._correction = Correction(cells)
        self._shown = _frozen(np.zeros(cells, np.int64), np.full(cells, np.inf))
        self._any = False

    @property
    def reference(self) -> Counts:
        """The last published counts, rounded where they were scaled."""
        return np.rint(self._shown.counts).astype(np.int64)

    @property
    def public(self) -> Public | None:
        """The last published counts."""
        if not self._any:
            return None
        return Public(self._shown.counts.astype(np.float64), self._correction.doubt())

    @property
    def reach(self) -> float:
        """Jumps are not looked for."""
        return 0.0

    def publish(self, slot: int, evidence: Evidence, people: int) -> Shown:
        """The evidence itself, corrected if a contrast was measured."""
        evidence, more = self._correction.correct(slot, evidence, evidence.counts.astype(np.float64), people)
        self._shown = _frozen(evidence.counts.copy(), np.sqrt(evidence.variance + more), evidence)
        self._any = True
        return self._shown

    def disturb(self, jump: float) -> None:
        """Nothing is expected."""

    def repeat(self, slot: int) -> Shown:
        """The same again; the standard error does not know how the stream moved since."""
        return self._shown

    def keep(self, counts: Counts | Floats, standard_error: Floats) -> None:
        """Show these until the next publication."""
        self._shown = _frozen(counts, standard_error)
        self._any = bool(np.isfinite(standard_error).all())

    def forecast_error(self, intervals: Floats, noise: Floats, people: int, watched: bool = False) -> Floats | None:
        """Nothing is foretold."""
        return None

    def copy(self) -> Self:
        """An independent view that knows the same."""
        twin = copy(self)
        twin._correction = self._correction.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """The last publication and what was learned from contrasts."""
        shown = self._shown
        return {
            "counts": shown.counts,
            "standard_error": shown.standard_error,
            "any": int(self._any),
            "correction": self._correction.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self._shown, self._any = _frozen(state["counts"].copy(), state["standard_error"].copy()), bool(state["any"])
        self._correction.restore(state["correction"])


class StateSpace:
    """A local level per cell with process variance κ·λ and variation φ·λ around it, λ being the level itself.

    Guarantees:
        Counts are within 0 and the number of registered people.
        A slot without a publication shows the level, with a standard error that grows.
    """

    def __init__(self, cells: int) -> None:
        self._bank = new_bank(cells)
        self._correction = Correction(cells)
        self._reference = np.zeros(cells, np.int64)
        self._lean = np.zeros(cells)  # variance of the correction
        self._slot = 0
        self._people = 0
        self._later: Later | None = None
        self._known: Public | None = None

    @property
    def reference(self) -> Counts:
        """What was shown at the last publication, rounded."""
        return self._reference

    @property
    def public(self) -> Public | None:
        """The level of each cell, at least one person."""
        if self._known is None and self._slot:
            self._known = Public(self._scale(self._people), self._correction.doubt())
        return self._known

    @property
    def reach(self) -> float:
        """How far the mean cell goes in a jump, lately; 0 before any."""
        return self._bank.reach

    def publish(self, slot: int, evidence: Evidence, people: int) -> Shown:
        """Let the models foretell the evidence, then learn from it."""
        known = self._bank.levels() if self._slot else evidence.counts.astype(np.float64)
        evidence, self._lean = self._correction.correct(slot, evidence, known, people)
        values = evidence.counts.astype(np.float64)
        if self._slot:
            scale = self._scale(people)
            counts, variance = self._bank.update(slot - self._slot, values, evidence.variance, scale)
        else:
            self._bank.begin(values, evidence.variance, max(people, 1))
            counts, variance = (each[0].copy() for each in self._bank.models.shown(self._bank.state))
        self._slot, self._people, self._later, self._known = slot, people, None, None
        shown = self._show(counts, variance, evidence)
        self._reference = np.rint(shown.counts).astype(np.int64)
        return shown

    def disturb(self, jump: float) -> None:
        """Let every level have moved by about as much."""
        if jump > 0:
            self._bank.disturb(jump * jump * np.pi / 2)  # a normal variable of mean size m has variance m²π/2

    def repeat(self, slot: int) -> Shown:
        """The level of each cell, with an error that grows from slot to slot."""
        if not self._slot:
            return _frozen(np.zeros(self._lean.size), np.full(self._lean.size, np.inf))
        if self._later is None:
            self._later = self._bank.later(self._scale(self._people))
        return self._show(*self._later.at(slot - self._slot))

    def keep(self, counts: Counts | Floats, standard_error: Floats) -> None:
        """Counts alone are not all there is to know: a filter goes on from its own `state`."""

    def forecast_error(self, intervals: Floats, noise: Floats, people: int, watched: bool = False) -> Floats | None:
        """The mean over a cycle of k slots and cells, once the filter has settled, and what jumps add.

        Models among which nothing has decided yet may foretell errors that lie far apart. So the mean over the models
        of a cell is that of logarithms: by what factor an interval is worse than another counts, not by how much.
        """
        weight = self._bank.weight
        scale = self._scale(people) if self._slot else np.full(weight.shape[1], people / weight.shape[1])
        # The level where a model is at home; the small part keeps it defined for models that are at home nowhere.
        some = weight + 1e-9 / weight.size
        typical = (some * scale).sum(axis=1, keepdims=True) / some.sum(axis=1, keepdims=True)
        payable = np.isfinite(noise)
        error = self._bank.models.forecast_error(intervals, np.where(payable, noise, 1.0), typical)
        mean = np.exp(weight.T @ np.log(error)).mean(axis=0)
        late = (intervals - 1) / 2
        if watched:
            late = _MISSED * late + (1 - _MISSED) * np.minimum(late, 1.0)
        return np.where(payable, mean + float(self._bank.jumps.mean()) * late, np.inf)

    def copy(self) -> Self:
        """An independent view that knows the same."""
        twin = copy(self)
        twin._bank, twin._correction = copy(self._bank), self._correction.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """What the models learned, and when."""
        return {
            "bank": self._bank.kept(),
            "correction": self._correction.state(),
            "reference": self._reference,
            "lean": self._lean,
            "slot": self._slot,
            "people": self._people,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self._bank.restore(state["bank"])
        self._correction.restore(state["correction"])
        self._reference, self._lean = state["reference"].copy(), state["lean"].copy()
        self._slot, self._people, self._later, self._known = state["slot"], state["people"], None, None

    def _scale(self, people: int) -> Floats:
        return np.clip(self._bank.levels(), 1.0, max(people, 1))

    def _show(self, counts: Floats, variance: Floats, evidence: Evidence | None = None) -> Shown:
        return _frozen(np.clip(counts, 0.0, self._people), np.sqrt(variance + self._lean), evidence)


_MISSED = 0.5
"""Of what jumps add, this part is taken to come from smaller ones that nobody sees."""


def _frozen(counts: Counts | Floats, standard_error: Floats, evidence: Evidence | None = None) -> Shown:
    counts.flags.writeable = standard_error.flags.writeable = False
    return Shown(counts, standard_error, evidence)


def new_bank(cells: int) -> Bank:
    """All models, before anything is known."""
    return Bank(cells, all_models(), laplace_patience(cells))
