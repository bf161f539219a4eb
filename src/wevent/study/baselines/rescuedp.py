"""Implements RescueDP: it samples cells at intervals of their own, small cells in groups.

[Wang16] gives every cell its own budget over a window. A person who moves is in several cells of a window, so here
one ledger is charged for every slot the largest budget of any cell in it, and a cell whose budget the window does not
leave is not sampled: it stays due until there is room. A cell takes a part of what its own samples have left of E.

The filter's Q is learned from noisy samples alone: their variance so far, less that of their noise, at least 0.
(Published code takes the variance of the raw stream, which is not private.) Budgets of a cell that is sampled in
every slot shrink without end, and the filter, whose R stays the same, follows such samples: single slots can be off
by orders of magnitude. That is so with the raw variance too; look at medians. Weighting samples by their noise finds
the better Q and has the larger mean error, so it is not done: where the source leaves a choice, a baseline gets the
one that serves it.

Scales. Group sums are whole; each gets discrete Laplace noise of scale s/eps, with s the sensitivity of one histogram
and eps the least of its cells' budgets. A person changes the sums of all groups by s in total, so a slot costs the
largest eps.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from wevent import Register
from wevent.extend import NANO, Counts, Offer, Units, as_fraction
from wevent.study.baselines.base import Baseline, BaselineOptions, DesiredSpend
from wevent.study.baselines.grouping import LAST, GroupCandidate, group_cells

PART, MOST_PART, MOST_SHARE = 0.2, 0.6, 5
"""A sample takes min(0.2·ln(I+1), 0.6) of what is left, and E/5 at most."""
PROPORTIONAL, INTEGRAL, STRETCH = 0.9, 0.1, 10.0
"""Gains of the controller, and how far an interval may grow at once."""
P0 = 100.0
"""First variance of an estimate."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """A group of cells that is sampled together, and its budget in units."""

    cells: npt.NDArray[np.int64]
    epsilon: int


@dataclass(slots=True)
class CellState:
    """What is known of each cell from its noisy samples (axes: cell, or (one of the last three, cell))."""

    interval: Floats
    due: npt.NDArray[np.int64]
    sampled: npt.NDArray[np.int64]
    samples: npt.NDArray[np.int64]
    variance: Floats
    mean: Floats
    squares: Floats
    noise: Floats
    errors: Floats = field(repr=False)
    last: Floats = field(repr=False)

    @classmethod
    def fresh(cls, many: int) -> CellState:
        """Before the first sample: due in slot 1, with interval 1."""
        integers, floats = np.zeros(many, np.int64), np.zeros(many)
        several = np.zeros((LAST, many))
        start = np.ones(many), integers + 1, integers, integers.copy(), np.full(many, P0)
        return cls(*start, floats, floats.copy(), floats.copy(), several, several.copy())


class RescueDP(Baseline):
    """Adaptive sampling, budget allocation, grouping and filtering, cell by cell, on one ledger.

    Only noisy samples, and what was paid for them, cross slots.

    Guarantees:
        A slot is charged the largest budget of its groups; no cell is sampled with more than the window leaves.
        Which cells are sampled, together and with what, depends on earlier samples and spends alone.
    """

    name: ClassVar[str] = "rescuedp"

    def __init__(self, register: Register, cells: int | Sequence[Hashable], **options: Unpack[BaselineOptions]) -> None:
        super().__init__(register, cells, **options)
        self.known = CellState.fresh(len(self.domain))
        self._spends = np.zeros((self.common.window, len(self.domain)), np.int64)  # axes: slot modulo w, cell
        self._spent = np.zeros(len(self.domain), np.int64)
        self._opened = 0
        self._plan: list[SampledGroup] = []

    def propose(self) -> DesiredSpend:
        """The largest budget of the groups that are sampled."""
        self._open_slot()
        self._plan = self._grouped(self.budgets())
        most = max((group.epsilon for group in self._plan), default=0)
        return DesiredSpend(np.zeros(1, np.int64), np.array([most], np.int64))

    def budgets(self) -> Units:
        """The budget of each cell that is due; 0 where it is not due, or the ledger has not that much (axes: cell)."""
        self._open_slot()
        part = np.minimum(PART * np.log(self.known.interval + 1), MOST_PART)
        left = self.common.units - self._spent
        wanted = np.minimum((part * left).astype(np.int64), self.common.units // MOST_SHARE)
        granted = (self.known.due <= self.ledger.slot) & (wanted <= self.ledger.room()[0])
        return np.where(granted, wanted, 0)

    def draw(self, data: Counts, offer: Offer) -> Floats | None:
        """Sample the planned groups, filter, and set the next intervals."""
        if not self._plan or offer.publish_budget[0] < max(group.epsilon for group in self._plan):
            return None  # never with more than was charged
        for group in self._plan:  # paid for, even if the slot gets lost from here on
            self._spends[offer.slot % self.common.window, group.cells] = group.epsilon
            self._spent[group.cells] += group.epsilon
        seen, scale = self._observe(data.sum(axis=0))
        cells = np.concatenate([group.cells for group in self._plan])
        return self._learn(cells, seen, scale, offer.slot)

    def _open_slot(self) -> None:
        """Let go of the slot that leaves the window; once for each slot."""
        slot = self.ledger.slot
        if self._opened != slot:
            self._opened = slot
            self._spent -= self._spends[slot % self.common.window]
            self._spends[slot % self.common.window] = 0

    def _grouped(self, budgets: Units) -> list[SampledGroup]:
        candidates = [
            GroupCandidate(cell, self.known.last[:, cell], bool(self.known.samples[cell] >= LAST))
            for cell in np.flatnonzero(budgets).tolist()
        ]
        return [SampledGroup(np.array(cells), int(budgets[cells].min())) for cells in group_cells(candidates)]

    def _observe(self, total: Counts) -> tuple[Floats, Floats]:
        """Noisy means of the planned groups and their noise's scale, one for each of their cells in order."""
        sums = np.array([total[group.cells].sum() for group in self._plan], np.int64)
        epsilon = np.array([group.epsilon for group in self._plan], np.int64)
        sizes = np.array([group.cells.size for group in self._plan])
        s = self.privacy.sensitivity
        noisy = np.empty_like(sums)
        for epsilon_units in np.unique(epsilon).tolist():
            alike = epsilon == epsilon_units
            noisy[alike] = self.noise.laplace(sums[alike], sensitivity=s, epsilon=as_fraction(epsilon_units))
        return np.repeat(noisy / sizes, sizes), np.repeat(s * NANO / epsilon / sizes, sizes)

    def _learn(self, cells: npt.NDArray[np.int64], seen: Floats, scale: Floats, slot: int) -> Floats:
        """[Wang16]: filter the samples of `cells`, then their controllers' next intervals."""
        known, s = self.known, self.privacy.sensitivity
        first = known.samples[cells] == 0
        q = self._process_variance(cells, seen, scale)
        prior = self.shown[cells]
        variance = known.variance[cells] + q * (slot - known.sampled[cells])  # one prediction for every slot since
        gain = variance / (variance + (s * self.common.window * NANO / self.common.units) ** 2)  # R = (s·w/E)²
        estimate = np.where(first, seen, prior + gain * (seen - prior))
        known.variance[cells] = np.where(first, P0, variance * (1 - gain))
        known.sampled[cells] = slot
        known.last[:, cells] = np.vstack([known.last[1:, cells], estimate])
        known.errors[:, cells] = np.vstack([known.errors[1:, cells], np.where(first, 0, np.abs(estimate - prior))])
        after = self._spends[(slot + 1) % self.common.window, cells]  # leaves the window before the next slot
        left = (self.common.units - self._spent[cells] + after) / NANO / s
        grown = STRETCH * (1 - (self._controlled(cells) * left) ** 2)
        known.interval[cells] = np.where(first, known.interval[cells], np.maximum(1, known.interval[cells] + grown))
        known.due[cells] = slot + known.interval[cells].astype(np.int64)
        shown = self.shown.copy()
        shown[cells] = estimate
        return shown

    def _process_variance(self, cells: npt.NDArray[np.int64], seen: Floats, scale: Floats) -> Floats:
        """Q of each cell with its new sample: the variance of samples so far less that of their noise, at least 0."""
        known = self.known
        known.samples[cells] += 1
        many = known.samples[cells]
        off = seen - known.mean[cells]
        known.mean[cells] += off / many
        known.squares[cells] += off * (seen - known.mean[cells])
        known.noise[cells] += (2 * scale**2 - known.noise[cells]) / many
        return np.maximum(known.squares[cells] / many - known.noise[cells], 0)

    def _controlled(self, cells: npt.NDArray[np.int64]) -> Floats:
        """δ = 0.9 of the last change of a cell's release + 0.1 of the mean of the last three."""
        errors = self.known.errors[:, cells]
        many = np.clip(self.known.samples[cells] - 1, 1, LAST)
        return PROPORTIONAL * errors[-1] + INTEGRAL * errors.sum(axis=0) / many
