"""Implements PeGaSus: it counts every slot with noise, groups similar slots and shows the median of a group.

[Chen17] perturbs, groups, smooths, for single events. With E/w in every slot the promise is that of a window: a window
of w slots is w events, one after the other. Four fifths of the share perturb, one fifth groups.

A cell's group takes in the next slot while the group's noisy deviation Σ|x - mean| stays below a noisy threshold, drawn
when the group opens. A slot that does not fit is a closed group of its own, so every slot of a cell takes part in one
run of the sparse vector technique and no more [Chen17] Alg. 3, [Lyu17].

Scales. One person changes one count of a cell by s at most, the deviation by 2s at most. Only whole numbers meet
noise: of a group of n slots the whole number n·Σ|x - mean| = Σ|n·x - S| is measured, S the sum, with sensitivity
2sn. Its noise has scale 8sn/eps_g, n times the 8/eps_g of the paper (s = 1); the threshold's is 4s/eps_g on whole
numbers, and n times the threshold is what the question is compared with. Shifts of both by their sensitivities are
whole, so the proof of the technique holds for the discrete Laplace distribution as it does for the continuous one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from wevent import Register
from wevent.extend import NANO, Counts, Offer, as_fraction
from wevent.study.baselines.base import Baseline, BaselineOptions, DesiredSpend

THRESHOLD = 5
"""The threshold before noise, in units of s/eps_g."""
GROUPING = 5
"""One part in so many of a slot's share groups, the rest perturbs."""
MOST = 2**62
"""A deviation above this counts as this, so that it fits; the smaller one is as sensitive at most."""


@dataclass(slots=True)
class OpenGroup:
    """An open group of one cell: private, never shown.

    Attributes:
        threshold: the noise of its threshold.
        counts: the true counts of its slots.
        noisy: their perturbed counts, ascending.
    """

    threshold: int
    counts: list[int] = field(repr=False)
    noisy: list[int] = field(repr=False)


class Pegasus(Baseline):
    """Perturb, group, smooth, with E/w in every slot.

    The open groups cross slots: the true counts of their slots and the noise of their thresholds, as many slots as
    they have grown to. A lost slot leaves them as they were.

    Guarantees:
        Every slot spends floor(E/w), whatever the data are.
        Every slot of a cell takes part in the questions of one group at most.
    """

    name: ClassVar[str] = "pegasus"

    def __init__(self, register: Register, cells: int | Sequence[Hashable], **options: Unpack[BaselineOptions]) -> None:
        super().__init__(register, cells, **options)
        share = self.common.units // self.common.window
        grouping = max(1, share // GROUPING)
        self._desired = DesiredSpend(np.array([grouping], np.int64), np.array([share - grouping], np.int64))
        self._groups: list[OpenGroup | None] = [None] * len(self.domain)

    def propose(self) -> DesiredSpend:
        """The same in every slot."""
        return self._desired

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """Perturb all cells, see which of them fit their groups, show the medians."""
        grouping, perturbing = int(offer.change_budget[0]), int(offer.publish_budget[0])
        if grouping == 0 or perturbing == 0:
            return None
        totals, s = data.sum(axis=0), self.privacy.sensitivity
        noisy = self.noise.laplace(totals, sensitivity=s, epsilon=as_fraction(perturbing)).tolist()
        counts = totals.tolist()
        fits = self._fits(counts, grouping)
        opening = [cell for cell, group in enumerate(self._groups) if group is None]
        thresholds = dict(zip(opening, self._thresholds(len(opening), grouping), strict=True))
        shown = np.empty(len(counts))
        for cell, (count, perturbed) in enumerate(zip(counts, noisy, strict=True)):  # nothing is drawn from here on
            group = self._groups[cell]
            if group is None:
                self._groups[cell] = OpenGroup(thresholds[cell], [count], [perturbed])
                shown[cell] = perturbed
            elif fits[cell]:
                group.counts.append(count)
                insort(group.noisy, perturbed)
                shown[cell] = median(group.noisy)
            else:
                self._groups[cell] = None
                shown[cell] = perturbed
        return shown

    def _fits(self, counts: Sequence[int], grouping: int) -> dict[int, bool]:
        """For each cell with an open group, whether the slot fits it; groups of one size are tested together."""
        sizes: dict[int, list[tuple[int, OpenGroup]]] = {}
        for cell, group in enumerate(self._groups):
            if group is not None:
                sizes.setdefault(len(group.counts) + 1, []).append((cell, group))
        s, fits = self.privacy.sensitivity, {}
        for n, members in sizes.items():
            scaled = [min(scaled_deviation([*group.counts, counts[cell]]), MOST) for cell, group in members]
            noisy_deviations = self.noise.laplace(scaled, sensitivity=2 * s * n, epsilon=as_fraction(grouping) / 4)
            for (cell, group), value in zip(members, noisy_deviations.tolist(), strict=True):
                # n·deviation + noise < n·(5s/eps_g + noise), in whole numbers
                fits[cell] = (value - n * group.threshold) * grouping < THRESHOLD * s * n * NANO
        return fits

    def _thresholds(self, count: int, grouping: int) -> list[int]:
        if count == 0:
            return []
        s = self.privacy.sensitivity
        noise = self.noise.laplace([0] * count, sensitivity=2 * s, epsilon=as_fraction(grouping) / 2)
        return [int(value) for value in noise]


def scaled_deviation(counts: Sequence[int]) -> int:
    """n·Σ|x - mean| of n whole numbers, a whole number.

    Guarantees:
        Exact; moves by at most 2n if one of the numbers moves by 1.
    """
    n, total = len(counts), sum(counts)
    return sum(abs(n * count - total) for count in counts)


def median(ascending: Sequence[int]) -> float:
    """The middle of ascending numbers, or the mean of the two in the middle."""
    half = len(ascending) // 2
    return float(ascending[half]) if len(ascending) % 2 else (ascending[half - 1] + ascending[half]) / 2
