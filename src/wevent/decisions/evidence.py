"""What goes into an estimator and what comes out: offers and public knowledge come in, evidence goes out.

Everything here is public, or budgets: noise was added before a count reaches an `Evidence`.
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
    """A private measure of how people who ask for little differ from people who ask for much.

    With M for what pooled counts are in the mean and L for what they should be, it is L - γM: everybody counts
    as 1 less γ times their pooled weight, strict people more than lenient ones, who may even count below 0.

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
        counts: noisy counts of people; whole numbers unless they were scaled (axes: cell).
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


class BiasForecast(Protocol):
    """How far pooled counts may lean towards lenient people, as far as contrasts have told."""

    def error(self, ways: MeasurementOptions, gap: Floats | None = None) -> tuple[Floats, Floats]:
        """Expected squared error of corrected counts: what a filter can average out, and what it cannot.

        Args:
            ways: how they are measured.
            gap: slots from one publication to the next; as it was lately by default.
        """
        ...


@dataclass(frozen=True, slots=True)
class ForecastError:
    """What several offers would give (axes: offer).

    Attributes:
        noise: variance of a publication that is independent of the next one's, so that a filter can average it out.
        lean: squared error that stays.
    """

    noise: Floats
    lean: Floats


@dataclass(frozen=True, slots=True)
class Public:
    """What is known before a publication: counts (axes: cell), and how far pooled ones may lean."""

    counts: Floats = field(repr=False)
    doubt: BiasForecast | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Offers:
    """What could be offered every so many slots: budgets (axes: offer, row) and slots from one to the next."""

    budgets: Units = field(repr=False)
    gap: Floats
