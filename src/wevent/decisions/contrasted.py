"""Pooled counts that are checked: budgets and a tally come in, pooled counts and a contrast go out.

Pooled counts lean towards lenient people if what people ask for says something about where they are. A second sum, in
which strict people count more, shows by how much. Both are paid from one budget: the part of the contrast is chosen
anew for every publication, from what is public (`releases.contrast` gathers what contrasts say).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent.cohorts.histogram import RowTally, Tally
from wevent.decisions.estimators import Estimator, Sizes
from wevent.decisions.evidence import Contrast, Evidence, Floats, ForecastError, MeasurementOptions, Offers, Public
from wevent.decisions.pooled import ASSUMPTION, Caps, choose_cap, pool, several_caps
from wevent.decisions.selection import Selection
from wevent.decisions.weighting import add_noise, laplace_variance, weigh_signed, weight_bits, weighted_sums
from wevent.noise import Noise
from wevent.units import MAX_EPSILON, NANO, Units

TENTHS = (1, 2, 4, 6, 9)
"""Parts of the budget that a contrast may get."""

_FIRST = 6
"""The part it gets while nothing is known."""

_FILTERED = 0.5
"""About what a filter leaves of noise; of a lean it leaves all."""

_ALIKE = 1e-6
"""With less leverage than this, everybody counts alike and there is nothing to contrast."""


@dataclass(frozen=True, slots=True)
class Divided(Selection):
    """A selection whose budgets are divided between counts and contrast.

    Attributes:
        tenths: what the contrast gets of every budget.
        offset: its γ.
    """

    tenths: int = 1
    offset: float = 0.0


class PooledWithContrast(Estimator):
    """`Pooled` with a part of every budget; the rest measures how strict and lenient people differ.

    The contrast gets a tenth if there is little left to find out, and up to nine tenths while the counts may lean far:
    the part of least foretold error. The more it gets, the nearer the counts are to unbiased ones.

    Args:
        tenths: the parts among which to choose.

    Guarantees:
        A person loses at most their budget by counts and contrast together.
        If anybody has no budget, no contrast is measured in that slot.
        Which part it is depends on budgets, registered sizes and what is public.
    """

    name: ClassVar[str] = "pooled with contrast"
    assumption: ClassVar[str | None] = ASSUMPTION + ", until the contrast has found out by how much that is wrong"
    whole: ClassVar[bool] = False

    def __init__(self, tenths: tuple[int, ...] = TENTHS) -> None:
        self.tenths = tenths

    def choose(self, budgets: Units, sizes: Sizes, sensitivity: int, public: Public | None) -> Selection:
        """As `Pooled`, from what the contrast leaves of every budget."""
        pooled, caps = choose_cap(budgets, sizes, sensitivity, public)
        if caps is None:
            return pooled
        best = self._best(caps, sensitivity, public, None)
        tenths = int(best.tenths[0]) if pooled.threshold >= 10 else 0  # so few units cannot be divided
        base = {each.name: getattr(pooled, each.name) for each in fields(Selection)}
        base |= {"threshold": max(pooled.threshold * (10 - tenths) // 10, 1), "variance": 0.0}
        base |= {"noise": float(best.noise[0] + best.lean[0])}
        return Divided(**base, tenths=tenths, offset=float(best.offset[0]))

    def forecast(self, offers: Offers, sizes: Sizes, sensitivity: int, public: Public | None) -> ForecastError:
        """What each of several offers would give, all at once."""
        caps = several_caps(offers.budgets, sizes, sensitivity, public)
        if caps is None:
            caps = Caps.of_each([choose_cap(offer, sizes, sensitivity, public)[1] for offer in offers.budgets])
        best = self._best(caps, sensitivity, public, offers.gap)
        return ForecastError(np.where(caps.threshold > 0, best.noise, np.inf), best.lean)

    def _best(self, caps: Caps, sensitivity: int, public: Public | None, gap: Floats | None) -> _Best:
        """The best way to measure of each offer.

        For every part there are two contrasts: one as far from the strictest as from the most lenient person
        who counts in full, and one in which everybody counts alike.
        """
        doubt = None if public is None else public.doubt
        tenths = np.array(self.tenths if doubt is not None else [min(_FIRST, max(self.tenths))])[None, :, None]
        checked = ((caps.uneven >= _ALIKE) & (caps.least > 0))[:, None, None]
        least, cap = (  # where nothing is contrasted, something that can be computed with
            np.where(checked[:, 0, 0], each, other) for each, other in ((caps.least, 0.5), (caps.threshold, 1.0))
        )
        reach = np.stack([(1 / least - 1 / cap) / 2, 1 / least], axis=1)[:, None, :]
        offset = np.stack([(1 / least + 1 / cap) / 2 * caps.mean, 0 * cap], axis=1)[:, None, :]
        noise = caps.noise[:, None, None] / np.square(1 - tenths / 10)
        contrast = 2 * np.square(sensitivity * reach * 10 / tenths)
        parts = np.broadcast_arrays(noise, contrast, offset, caps.uneven[:, None, None], tenths)
        ways = MeasurementOptions(*parts[:4])
        error, lean = ways.noise, np.zeros(ways.noise.shape)
        if doubt is not None:
            found = doubt.error(ways, None if gap is None else gap[:, None, None])
            error, lean = (np.where(checked, one, other) for one, other in zip(found, (error, lean), strict=True))
        shape = (len(error), -1)
        which, rows = (_FILTERED * error + lean).reshape(shape).argmin(axis=1), np.arange(len(error))
        return _Best(*(each.reshape(shape)[rows, which] for each in (parts[4], ways.offset, error, lean)))

    def draw(
        self, tally: Tally, selection: Selection, sizes: Sizes, sensitivity: int, noise: Noise, public: Public | None
    ) -> Evidence:
        """Pooled counts, and beside them the contrast."""
        if not isinstance(selection, Divided):
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
    """One way to measure for each offer, with its error in two parts (axes: offer)."""

    tenths: npt.NDArray[np.int64]
    offset: Floats
    noise: Floats
    lean: Floats


def _by_budget(tally: Tally, budgets: Units, sizes: Sizes) -> tuple[Tally, Units, Sizes]:
    """The same people in one row for each different budget, ascending."""
    there = sizes > 0
    values, which = np.unique(budgets[there], return_inverse=True)
    group = np.full(sizes.size, -1, np.int64)
    group[there] = which
    people = np.bincount(which, sizes[there], values.size).astype(np.int64)
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
