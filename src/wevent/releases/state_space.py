"""Filters releases with a state-space model: a level per cell, and a bank of models of how it moves (SPEC §14)."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from wevent.cohorts.counting import Counts
from wevent.decisions.evidence import Evidence, PublicKnowledge
from wevent.releases.filters import Filter, ShownCounts
from wevent.releases.models.bank import new_bank
from wevent.releases.models.correction import BiasCorrection
from wevent.releases.models.dynamics import Floats
from wevent.releases.models.forecast import ForecastState
from wevent.releases.models.steady_state import forecast_error

_UNDETECTED = 0.5
"""Of the error that jumps add, this part comes from jumps that are too small to be detected."""


class StateSpace(Filter):
    """A level λ per cell that walks with variance κ·λ per slot, and counts that vary around it with variance φ·λ.

    Guarantees:
        Counts are within 0 and the number of registered people.
        A slot without a publication shows the level, with a standard error that grows.
    """

    def __init__(self, cells: int) -> None:
        self._bank = new_bank(cells)
        self._correction = BiasCorrection(cells)
        self._reference = np.zeros(cells, np.int64)
        self._bias = np.zeros(cells)  # variance of the correction
        self._slot = 0  # of the last publication; 0 before the first
        self._people = 0
        self._forecast: ForecastState | None = None  # made when it is needed, until the next publication
        self._known: PublicKnowledge | None = None  # likewise

    @property
    def reference(self) -> Counts:
        """The counts shown at the last publication, rounded."""
        return self._reference

    @property
    def public(self) -> PublicKnowledge | None:
        """The level of each cell, at least one person."""
        if self._known is None and self._slot:
            self._known = PublicKnowledge(self._scale(self._people), self._correction.model())
        return self._known

    @property
    def typical_jump(self) -> float:
        """How far the mean cell moved in recent jumps; 0 before the first."""
        return self._bank.typical_jump

    def publish(self, slot: int, evidence: Evidence, people: int) -> ShownCounts:
        """Let the models forecast the evidence, then learn from it."""
        known = self._bank.levels() if self._slot else evidence.counts.astype(np.float64)
        evidence, self._bias = self._correction.correct(slot, evidence, known, people)
        values = evidence.counts.astype(np.float64)
        if self._slot:
            scale = self._scale(people)
            counts, variance = self._bank.update(slot - self._slot, values, evidence.variance, scale)
        else:
            self._bank.begin(values, evidence.variance, max(people, 1))
            counts, variance = (each[0].copy() for each in self._bank.models.value(self._bank.posterior))
        self._slot, self._people, self._forecast, self._known = slot, people, None, None
        shown = self._show(counts, variance, evidence)
        self._reference = np.rint(shown.counts).astype(np.int64)
        return shown

    def inflate_variance(self, jump: float) -> None:
        """Let every level have moved by about as much."""
        if jump > 0:
            self._bank.inflate_variance(jump * jump * np.pi / 2)  # a normal variable of mean size m has variance m²π/2

    def repeat(self, slot: int) -> ShownCounts:
        """The level of each cell, with an error that grows from slot to slot."""
        if not self._slot:
            return ShownCounts(np.zeros(self._bias.size), np.full(self._bias.size, np.inf))
        if self._forecast is None:
            self._forecast = self._bank.forecast(self._scale(self._people))
        return self._show(*self._forecast.at(slot - self._slot))

    def forecast_error(
        self, intervals: Floats, noise: Floats, people: int, detects_jumps: bool = False
    ) -> Floats | None:
        """The mean over a cycle of k slots and over cells, once the filter has settled, and the part of jumps.

        Models that no publication has decided between may forecast errors that lie far apart. So the mean over
        the models of a cell is that of logarithms: the factor between the errors of two intervals counts.
        """
        weight = self._bank.weight
        scale = self._scale(people) if self._slot else np.full(weight.shape[1], people / weight.shape[1])
        # The level in whose cells a model has its weight; the small part keeps it defined for models without any.
        positive = weight + 1e-9 / weight.size
        typical = (positive * scale).sum(axis=1, keepdims=True) / positive.sum(axis=1, keepdims=True)
        payable = np.isfinite(noise)
        error = forecast_error(self._bank.models, intervals, np.where(payable, noise, 1.0), typical)
        mean = np.exp(weight.T @ np.log(error)).mean(axis=0)
        late = (intervals - 1) / 2
        if detects_jumps:
            late = _UNDETECTED * late + (1 - _UNDETECTED) * np.minimum(late, 1.0)
        return np.where(payable, mean + float(self._bank.jump_rate.mean()) * late, np.inf)

    def copy(self) -> Self:
        """An independent filter that has learned the same."""
        twin = copy(self)
        twin._bank, twin._correction = copy(self._bank), self._correction.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """What the models have learned, and when."""
        return {
            "bank": self._bank.state(),
            "correction": self._correction.state(),
            "reference": self._reference,
            "bias": self._bias,
            "slot": self._slot,
            "people": self._people,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._bank.restore(state["bank"])
        self._correction.restore(state["correction"])
        self._reference, self._bias = state["reference"].copy(), state["bias"].copy()
        self._slot, self._people, self._forecast, self._known = state["slot"], state["people"], None, None

    def _scale(self, people: int) -> Floats:
        return np.clip(self._bank.levels(), 1.0, max(people, 1))

    def _show(self, counts: Floats, variance: Floats, evidence: Evidence | None = None) -> ShownCounts:
        return ShownCounts(np.clip(counts, 0.0, self._people), np.sqrt(variance + self._bias), evidence)
