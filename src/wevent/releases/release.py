"""Defines the release of a slot: counts, how the slot ended, and how far the counts may be off."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.decisions.change import Change
from wevent.decisions.selection import Selection
from wevent.releases import display
from wevent.units import Units

NORMAL_95 = 1.959963984540054
"""So many standard errors to either side hold 95 % of a normal distribution."""


class Decision(StrEnum):
    """How a slot ended."""

    PUBLISHED = "published"
    """Fresh counts with fresh noise."""
    SKIPPED = "skipped"
    """Too little change; the last counts again."""
    NULLIFIED = "nullified"
    """Resting to pay for an earlier publication; the last counts again."""
    LOST = "lost"
    """Charged and never drawn; the last counts again."""


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Expected squared error per cell of a publication in this slot, in its three parts; for the operator."""

    variance: float
    squared_bias: float
    noise: float

    @property
    def total(self) -> float:
        """All three together."""
        return self.variance + self.squared_bias + self.noise


@dataclass(frozen=True, slots=True)
class RawCounts:
    """What a publication said before any filter: noisy counts and the root of their expected squared error.

    These allow to filter or smooth the history again, at no cost (`releases.smoothing`).
    """

    counts: Counts | npt.NDArray[np.float64] = field(repr=False)
    standard_error: npt.NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        self.counts.flags.writeable = self.standard_error.flags.writeable = False


@dataclass(frozen=True, slots=True)
class Release:
    """One slot's public counts.

    Attributes:
        slot: its number.
        counts: per cell. Without a filter one whole number (fractional if people were weighted), which may be
            negative, since it is noisy; with a filter fractional and never negative (axes: cell).
        decision: how the slot ended.
        threshold: the budget that set the noise of a publication in this slot, in ε; None if nothing was on offer.
        standard_error: per cell, root of the expected squared error of the counts; infinite before the first
            publication. Without a filter it does not know how the stream moved since (axes: cell).
        error: what a publication in this slot would be off by; for the operator. None if nothing was on offer.
        raw: what was published before any filter; None if nothing was.
        assumption: what must be true for the counts to be right in the mean; None if nothing must.
        cells: names of the cells, in the order of the counts; their indices if they have no names.
    """

    slot: int
    counts: Counts | npt.NDArray[np.float64] = field(repr=False)
    decision: Decision
    threshold: float | None
    standard_error: npt.NDArray[np.float64] = field(repr=False)
    error: ExpectedError | None = field(repr=False)
    raw: RawCounts | None = field(default=None, repr=False)
    assumption: str | None = field(default=None, repr=False)
    cells: Sequence[Hashable] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.cells:
            object.__setattr__(self, "cells", range(len(self.counts)))

    def as_dict(self) -> dict[str, Any]:
        """Slot, decision, threshold, and counts, standard errors and intervals by cell, all as plain values.

        Guarantees:
            The keys and values are those of `wevent releases --format ndjson`, but for `start`: None stands for a
            value of which nothing was published yet.
        """
        return display.to_dict(self)

    def to_frame(self, library: display.FrameLibrary | None = None) -> Any:
        """A pandas or polars DataFrame: slot, decision, cell, count, standard_error, low and high, a row for each cell.

        Args:
            library: which of the two; by default pandas if it is installed, otherwise polars.

        Guarantees:
            If the library is not installed, `InvalidSetting` says so. Values of which nothing was published yet are
            missing.
        """
        return display.to_frame(self, library)

    def _repr_html_(self) -> str:
        return display.to_html(self)

    @property
    def low(self) -> npt.NDArray[np.float64]:
        """Lower end of the 95 % interval; no count is below 0 (axes: cell)."""
        return interval(self.counts, self.standard_error)[0]

    @property
    def high(self) -> npt.NDArray[np.float64]:
        """Upper end of the 95 % interval (axes: cell)."""
        return interval(self.counts, self.standard_error)[1]


@dataclass(frozen=True, slots=True)
class Trace:
    """How the last step came about, row by row; for the operator and for checking by hand (axes: row).

    Attributes:
        slot: the slot.
        change_budget: spent on measuring change, in units.
        offer: on offer for publishing, in units.
        paid: whether the offer was spent too: the slot was published, or lost.
        borders: DPBA's largest border b(τ) of each row, -inf where there is none; None for other
            mechanisms and beyond 65,536 rows.
        change: what was measured.
    """

    slot: int
    change_budget: Units = field(repr=False)
    offer: Units = field(repr=False)
    paid: bool
    borders: npt.NDArray[np.float64] | None = field(repr=False)
    change: Change | None = field(default=None, repr=False)

    @property
    def spent(self) -> Units:
        """What was spent in all, in units."""
        return self.change_budget + self.offer if self.paid else self.change_budget


def interval(
    counts: Counts | npt.NDArray[np.float64], standard_error: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Lower and upper ends of 95 % intervals; no count is below 0 (axes: those of the counts)."""
    reach = NORMAL_95 * standard_error
    return np.maximum(counts - reach, 0.0), np.maximum(counts + reach, 0.0)


def expected_error(selection: Selection) -> ExpectedError | None:
    """The three parts of a selection; None if nothing was on offer."""
    if selection.threshold == 0:
        return None
    concentration = selection.concentration
    return ExpectedError(
        selection.variance * concentration.variance,
        selection.squared_bias * concentration.squared_bias,
        selection.noise,
    )
