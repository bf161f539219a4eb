"""Defines the public values that go into an estimator and the evidence that it returns.

Everything here is public, or budgets: noise is added before a count reaches an `Evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wevent.cohorts.counting import Counts
from wevent.units import Units

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A private measure of how people with small budgets (strict) differ from people with large ones (lenient).

    With M for the mean of pooled counts and L for the unbiased counts it is L - γM: a person counts as 1 less γ
    times their pooled weight, so that strict people count more than lenient ones, who may even count below 0.

    Attributes:
        counts: noisy L - γM (axes: cell).
        variance: of the noise, the same in every cell.
        offset: γ.
    """

    counts: Floats = field(repr=False)
    variance: float
    offset: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one publication says: public, since noise was added.

    Attributes:
        counts: noisy counts of people; integers unless they were scaled (axes: cell).
        variance: expected squared error of each (axes: cell).
        leverage: Σ u² / n, u being how far a person's weight is above the mean weight, in means; 0 if all count alike.
        contrast: measured beside them, or None.
    """

    counts: Counts | Floats = field(repr=False)
    variance: Floats = field(repr=False)
    leverage: float = 0.0
    contrast: Contrast | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """Several ways to measure pooled counts with a contrast; arrays of one shape.

    Attributes:
        noise: variance of the pooled counts.
        contrast: variance of the contrast measured beside them.
        offset: its γ.
        leverage: as in `Evidence`.
    """

    noise: Floats
    contrast: Floats
    offset: Floats
    leverage: Floats


@dataclass(frozen=True, slots=True)
class ForecastError:
    """Expected squared error of several offers, or of several ways to measure, in two parts.

    Attributes:
        noise: variance of a publication that is independent of the next one's, so that a filter can average it out.
        bias: squared error that no filter averages out.
    """

    noise: Floats
    bias: Floats


class BiasForecast(Protocol):
    """How far pooled counts may be biased towards lenient people, as far as contrasts have shown."""

    def error(self, options: MeasurementOptions, gap: Floats | None = None) -> ForecastError:
        """Expected squared error of corrected counts.

        Args:
            options: how they are measured.
            gap: slots from one publication to the next; by default as between the last two.
        """
        ...


@dataclass(frozen=True, slots=True)
class PublicKnowledge:
    """What is public before a publication: counts (axes: cell), and the bias of pooled ones."""

    counts: Floats = field(repr=False)
    bias: BiasForecast | None = field(default=None, repr=False)


Knowledge = PublicKnowledge | None
"""None before the first publication."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Budgets that could be offered every so many slots (axes: offer, row), and slots from one to the next."""

    budgets: Units = field(repr=False)
    gap: Floats
