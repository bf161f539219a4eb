"""What goes out for one slot: counts, how they came about, and how far they may be off."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.decisions.change import Change
from wevent.decisions.selection import Selection
from wevent.units import NANO, Units


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
class Release:
    """One slot's public counts.

    Attributes:
        slot: its number.
        counts: one whole number per cell; may be negative, since it is noisy (axes: cell).
        decision: how the slot ended.
        threshold: the budget that set the noise of a publication in this slot, in ε; None if nothing was on offer.
        standard_error: per cell, root of the expected squared error of the counts when they were published;
            infinite before the first publication. It does not know how the stream moved since (axes: cell).
        error: what a publication in this slot would be off by; for the operator. None if nothing was on offer.
    """

    slot: int
    counts: Counts = field(repr=False)
    decision: Decision
    threshold: float | None
    standard_error: npt.NDArray[np.float64] = field(repr=False)
    error: ExpectedError | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """How the last step came about, row by row; for the operator and for checking by hand (axes: row).

    Attributes:
        slot: the slot.
        part_1: spent on measuring change, in units.
        offer: on offer for publishing, in units.
        spent: what was spent in all, in units.
        borders: DPBA's largest border b(τ) of each row, -inf where there is none; None for other
            mechanisms and beyond 65,536 rows.
        change: what was measured.
    """

    slot: int
    part_1: Units = field(repr=False)
    offer: Units = field(repr=False)
    spent: Units = field(repr=False)
    borders: npt.NDArray[np.float64] | None = field(repr=False)
    change: Change | None = field(repr=False)


def expected_error(selection: Selection) -> ExpectedError | None:
    """The three parts of a selection; None if nothing was on offer."""
    if selection.threshold == 0:
        return None
    return ExpectedError(selection.variance, selection.squared_bias, selection.noise)


def standard_error(counts: Counts, selection: Selection, sensitivity: int) -> npt.NDArray[np.float64]:
    """Root of the expected squared error per cell, from public things only (axes: cell).

    The noise is the same everywhere; who was lost by sampling is taken to stand where the released
    counts say that people are.
    """
    q = np.exp(-selection.threshold / (NANO * sensitivity))
    noise = 2 * q / (1 - q) ** 2  # variance of the discrete Laplace distribution
    there = np.maximum(counts, 0).astype(np.float64)
    share = there / there.sum() if there.any() else np.full(counts.size, 1 / counts.size)
    return np.sqrt(noise + selection.variance * share + selection.squared_bias * share**2)
