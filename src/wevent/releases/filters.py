"""Defines what a filter is: it turns the evidence of publications into the counts that every slot shows (SPEC §14).

A filter is a function of public values and costs no budget. `Unfiltered` repeats the last evidence until the next
publication; `releases.state_space` estimates a level per cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from wevent.cohorts.counting import Counts
from wevent.decisions.evidence import Evidence, PublicKnowledge
from wevent.releases.models.correction import BiasCorrection
from wevent.releases.models.dynamics import Floats


@dataclass(frozen=True, slots=True)
class ShownCounts:
    """The counts that a slot shows and the root of their expected squared error (axes: cell); neither is writable.

    Attributes:
        evidence: of a publication, corrected if a contrast was measured; None in other slots.
    """

    counts: Counts | Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    evidence: Evidence | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.counts.flags.writeable = self.standard_error.flags.writeable = False


class Filter(ABC):
    """Turns evidence into shown counts; each publisher has one filter, with public state only."""

    @property
    @abstractmethod
    def reference(self) -> Counts:
        """The integer counts that change is measured against: those of the last publication (axes: cell)."""

    @property
    @abstractmethod
    def public(self) -> PublicKnowledge | None:
        """What is known of the counts, for choosing thresholds; None before the first publication."""

    @property
    def typical_jump(self) -> float:
        """How far the mean cell moved in recent jumps; 0 before the first, or if the filter detects none."""
        return 0.0

    @abstractmethod
    def publish(self, slot: int, evidence: Evidence, people: int) -> ShownCounts:
        """Take in a publication among this many registered people."""

    @abstractmethod
    def repeat(self, slot: int) -> ShownCounts:
        """The counts of a slot without a publication."""

    def inflate_variance(self, jump: float) -> None:  # noqa: B027 - nothing to inflate without an estimate
        """Expect that the mean cell has just moved by about `jump`, a measured and paid number; 0 if not."""

    def restore_counts(self, counts: Counts | Floats, standard_error: Floats) -> None:  # noqa: B027
        """Continue from the counts published last; nothing to do for a filter that continues from its `state`."""

    def forecast_error(
        self, intervals: Floats, noise: Floats, people: int, detects_jumps: bool = False
    ) -> Floats | None:
        """Expected squared error of publishing every k-th slot with this noise; None without a forecast.

        Args:
            intervals: k.
            noise: variance of a publication at each.
            people: how many a cell can hold.
            detects_jumps: whether change is measured in every slot, well enough to detect a typical jump.
        """
        return None

    @abstractmethod
    def copy(self) -> Self:
        """An independent filter that has learned the same."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What the filter has learned, as plain values and arrays for `budgets.codec`."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""


class Unfiltered(Filter):
    """Shows the last publication until the next.

    Guarantees:
        Integer counts stay integers.
    """

    def __init__(self, cells: int) -> None:
        self._correction = BiasCorrection(cells)
        self._shown = ShownCounts(np.zeros(cells, np.int64), np.full(cells, np.inf))
        self._published = False

    @property
    def reference(self) -> Counts:
        """The last published counts, rounded if they were scaled."""
        return np.rint(self._shown.counts).astype(np.int64)

    @property
    def public(self) -> PublicKnowledge | None:
        """The last published counts."""
        if not self._published:
            return None
        return PublicKnowledge(self._shown.counts.astype(np.float64), self._correction.model())

    def publish(self, slot: int, evidence: Evidence, people: int) -> ShownCounts:
        """The evidence itself, corrected if a contrast was measured."""
        evidence, bias = self._correction.correct(slot, evidence, evidence.counts.astype(np.float64), people)
        self._shown = ShownCounts(evidence.counts.copy(), np.sqrt(evidence.variance + bias), evidence)
        self._published = True
        return self._shown

    def repeat(self, slot: int) -> ShownCounts:
        """The same again; the standard error does not know how the stream has moved since."""
        return self._shown

    def restore_counts(self, counts: Counts | Floats, standard_error: Floats) -> None:
        """Show these counts until the next publication."""
        self._shown = ShownCounts(counts, standard_error)
        self._published = bool(np.isfinite(standard_error).all())

    def copy(self) -> Self:
        """An independent filter that has learned the same."""
        twin = copy(self)
        twin._correction = self._correction.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """The last publication and the bias learned from contrasts."""
        return {
            "counts": self._shown.counts,
            "standard_error": self._shown.standard_error,
            "published": int(self._published),
            "correction": self._correction.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._shown = ShownCounts(state["counts"].copy(), state["standard_error"].copy())
        self._published = bool(state["published"])
        self._correction.restore(state["correction"])
