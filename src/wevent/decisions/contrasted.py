"""Measures, beside pooled counts, a contrast that shows their bias (SPEC §12).

Pooled counts are biased towards lenient people if what people require says something about where they are. A second
sum, in which strict people count more, shows by how much. Both are paid from one budget: the part of the contrast is
chosen anew for every publication, from public values (`releases.models.correction` learns from contrasts).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent.cohorts.histogram import RowTally, Tally
from wevent.decisions.estimators import Estimator, Sizes
from wevent.decisions.evidence import Contrast, Evidence, Floats, ForecastError, Knowledge, MeasurementOptions, Offers
from wevent.decisions.pooled import ASSUMPTION, Caps, choose_cap, pool, several_caps
from wevent.decisions.selection import Selection
from wevent.decisions.weighting import add_noise, laplace_variance, weigh_signed, weight_bits, weighted_sums
from wevent.noise import Noise
from wevent.units import MAX_EPSILON, NANO, Units

TENTHS = (1, 2, 4, 6, 9)
"""Parts of the budget that a contrast may get."""

_FIRST_TENTHS = 6
"""The part it gets before the first publication."""

_FILTERED = 0.5
"""About the part of noise that a filter leaves; it leaves all of a bias."""

_ALIKE = 1e-6
"""With less leverage than this, all people count alike and there is nothing to contrast."""


@dataclass(frozen=True, slots=True)
class DividedSelection(Selection):
    """A selection whose budgets are divided between counts and contrast.

    Attributes:
        tenths: what the contrast gets of every budget.
        offset: its γ.
    """

    tenths: int = 1
    offset: float = 0.0


class PooledWithContrast(Estimator):
    """`Pooled` with a part of every budget; the rest measures how strict and lenient people differ.

    The contrast gets the part of least forecast error: a tenth once the bias is known, and up to nine tenths while
    the counts may be biased much. The more it gets, the nearer the counts are to unbiased ones.

    Args:
        tenths: the parts among which to choose.

    Guarantees:
        A person loses at most their budget by counts and contrast together.
        If anybody has no budget, no contrast is measured in that slot.
        The part depends on budgets, registered sizes and public values.
    """

    name: ClassVar[str] = "pooled with contrast"
    assumption: ClassVar[str | None] = ASSUMPTION + ", until contrasts have shown by how much that is wrong"
    integer_counts: ClassVar[bool] = False

    def __init__(self, tenths: tuple[int, ...] = TENTHS) -> None:
        self.tenths = tenths

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Knowledge) -> Selection:
        """As `Pooled`, from the part of every budget that the contrast leaves."""
        pooled, caps = choose_cap(budgets, sizes, sensitivity, public)
        if caps is None:
            return pooled
        best = self._best(caps, sensitivity, public, None)
        tenths = int(best.tenths[0]) if pooled.threshold >= 10 else 0  # so few units cannot be divided
        base = {each.name: getattr(pooled, each.name) for each in fields(Selection)}
        base |= {"threshold": max(pooled.threshold * (10 - tenths) // 10, 1), "variance": 0.0}
        base |= {"noise": float(best.noise[0] + best.bias[0])}
        return DividedSelection(**base, tenths=tenths, offset=float(best.offset[0]))

    def forecast(self, offers: Offers, sizes: Sizes, sensitivity: int, public: Knowledge) -> ForecastError:
        """The expected error of each of several offers, all at once."""
        caps = several_caps(offers.budgets, sizes, sensitivity, public)
        if caps is None:
            caps = Caps.of_each([choose_cap(offer, sizes, sensitivity, public)[1] for offer in offers.budgets])
        best = self._best(caps, sensitivity, public, offers.gap)
        return ForecastError(np.where(caps.threshold > 0, best.noise, np.inf), best.bias)

    def _best(self, caps: Caps, sensitivity: int, public: Knowledge, gap: Floats | None) -> _Best:
        """The best way to measure for each offer.

        For every part there are two contrasts: one as far from the strictest as from the most lenient person
        who counts in full, and one in which all people count alike.
        """
        bias = None if public is None else public.bias
        tenths = np.array(self.tenths if bias is not None else [min(_FIRST_TENTHS, max(self.tenths))])[None, :, None]
        contrasted = ((caps.leverage >= _ALIKE) & (caps.least > 0))[:, None, None]
        least, cap = (  # where nothing is contrasted, placeholders
            np.where(contrasted[:, 0, 0], each, other) for each, other in ((caps.least, 0.5), (caps.threshold, 1.0))
        )
        largest = np.stack([(1 / least - 1 / cap) / 2, 1 / least], axis=1)[:, None, :]
        offset = np.stack([(1 / least + 1 / cap) / 2 * caps.mean, 0 * cap], axis=1)[:, None, :]
        noise = caps.noise[:, None, None] / np.square(1 - tenths / 10)
        contrast = 2 * np.square(sensitivity * largest * 10 / tenths)
        parts = np.broadcast_arrays(noise, contrast, offset, caps.leverage[:, None, None], tenths)
        options = MeasurementOptions(*parts[:4])
        error = ForecastError(options.noise, np.zeros(options.noise.shape))
        if bias is not None:
            found = bias.error(options, None if gap is None else gap[:, None, None])
            error = ForecastError(np.where(contrasted, found.noise, error.noise), np.where(contrasted, found.bias, 0.0))
        shape = (len(caps.noise), -1)
        best = (_FILTERED * error.noise + error.bias).reshape(shape).argmin(axis=1)
        offer = np.arange(len(best))
        return _Best(*(x.reshape(shape)[offer, best] for x in (parts[4], options.offset, error.noise, error.bias)))

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Knowledge
    ) -> Evidence:
        """Pooled counts, and beside them the contrast."""
        if not isinstance(selection, DividedSelection):
            return pool(tally, selection, sizes, sensitivity, noise)[0]
        tally, budgets, sizes = _by_budget(tally, selection.budgets, sizes)  # counted once for both
        own = budgets * (10 - selection.tenths) // 10
        evidence, above = pool(tally, replace(selection, budgets=own), sizes, sensitivity, noise)
        if evidence.leverage < _ALIKE or budgets[0] <= 0:
            return evidence
        factors = 1 - selection.offset * (1 + above)
        contrast = _contrast(tally, budgets - own, sizes, sensitivity, noise, factors)
        return evidence if contrast is None else replace(evidence, contrast=replace(contrast, offset=selection.offset))


@dataclass(frozen=True, slots=True)
class _Best:
    """The best way to measure for each offer, with its error in two parts (axes: offer)."""

    tenths: npt.NDArray[np.int64]
    offset: Floats
    noise: Floats
    bias: Floats


def _by_budget(tally: Tally, budgets: Units, sizes: Sizes) -> tuple[Tally, Units, Sizes]:
    """The same people in one row for each different budget, ascending."""
    registered = sizes > 0
    values, which = np.unique(budgets[registered], return_inverse=True)
    group = np.full(sizes.size, -1, np.int64)
    group[registered] = which
    people = np.bincount(which, sizes[registered], values.size).astype(np.int64)
    return RowTally(tally.by_group(group, values.size)), values, people


def _contrast(
    tally: Tally, budgets: Units, sizes: Sizes, sensitivity: int, noise: Noise, factors: Floats
) -> Contrast | None:
    """Σ b x with noise, b being the factors, within these budgets; None if they are too small for any."""
    bits = weight_bits(int(sizes.sum()) * sensitivity)
    largest = float(np.abs(factors).max())
    moved = factors != 0
    if largest == 0.0:
        return None
    relative = factors / largest
    theta = int(min(np.floor(budgets[moved] / np.abs(relative[moved])).min(), MAX_EPSILON * NANO))
    if theta < 1:
        return None
    noisy = add_noise(
        weighted_sums(tally, weigh_signed(relative, budgets, theta, bits), sizes), theta, bits, sensitivity, noise
    )
    counts = np.ldexp(noisy.astype(np.float64), -bits) * largest
    return Contrast(counts, laplace_variance(theta, bits, sensitivity) * largest**2, 0.0)
