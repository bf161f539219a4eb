"""Runs SPAS, NOT PRIVATE, as the published code of [Li25] does, refund included.

Other than the accounted form of `baselines.spas`, it pays E·20/w for each release of the warm-up, takes 1 for the
sensitivity of the question, and adds threshold budget to releases that it does not record: windows hold more than E.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wevent.study.protocols.printed_methods.loop import PrintedRun
from wevent.study.protocols.printed_methods.segments import LENGTH, Array, Flags, Floats

WARM_UP_STEP = 20
"""A release every so many slots of the first window."""


def run_spas(counts: Array, epsilon: float, window: int, random: np.random.Generator) -> PrintedRun:
    """Run SPAS over all segments.

    Args:
        counts: true ones (axes: segment, slot, cell).
        epsilon: of everybody.
        window: of everybody.
        random: draws everything.
    """
    segments, _, cells = counts.shape
    run = _SpasRun(counts, epsilon, window, random)
    shown = np.zeros((segments, cells))
    released = np.zeros((segments, LENGTH, cells))
    for slot in range(LENGTH):
        budget = run.budget(slot)
        fresh = budget > 0
        before = shown.copy()
        noise = random.laplace(size=(int(fresh.sum()), cells)) / budget[fresh, None]
        shown[fresh] = counts[fresh, slot] + noise
        run.remember(slot, budget, shown - before)
        released[:, slot] = shown
    # The threshold's quarter of E belongs to each window, one share of it to each slot.
    spent = run.paid + epsilon / 4 / window
    return PrintedRun(released, run.paid > 0, spent[:, :, None])


@dataclass(frozen=True, slots=True)
class _SpasWindow:
    """What the last w-1 slots leave (axes: segment)."""

    left: Floats
    first: Array
    still: Array


class _SpasRun:
    """State of all segments (axes: segment, slot)."""

    def __init__(self, counts: Array, epsilon: float, window: int, random: np.random.Generator) -> None:
        segments = len(counts)
        self._counts, self._window, self._random = counts, window, random
        self._warm_up = epsilon * WARM_UP_STEP / window
        self._threshold, self._release = epsilon / 4, 3 * epsilon / 4
        self._rho = 2 / self._threshold * random.laplace(size=segments)
        self._booked, self._svt, self._squares, self._steps, self.paid = np.zeros((5, segments, LENGTH))
        self._changed = np.zeros((segments, LENGTH), bool)

    def budget(self, slot: int) -> Floats:
        """What is released with in this slot, 0 to repeat (axes: segment)."""
        if slot < self._window:
            budget = np.full(len(self._counts), self._warm_up if slot % WARM_UP_STEP == 0 else 0.0)
            self._booked[:, slot] = budget
            return budget
        c = self._releases(slot)
        window = self._look_back(slot)
        forced = window.still <= np.floor(window.left * c / self._release)
        wanted = ~forced & self._above(slot, c) & (window.left >= self._release / c)
        even = window.left / window.still
        self._booked[:, slot] = np.select([forced, wanted], [even, self._release / c], 0.0)
        self._svt[:, slot] = np.where(wanted, self._threshold / (2 * c), 0.0)
        recent = self._svt[:, max(0, slot - self._window + 2) : slot + 1].sum(axis=1)
        since = np.where(np.arange(LENGTH) >= window.first[:, None], self._svt, 0.0).sum(axis=1)
        half = self._threshold / 2
        refund = np.select([forced, wanted], [(half - since) / c, np.maximum(0.0, half - recent)], 0.0)
        return np.maximum(self._booked[:, slot] + refund, 0.0)

    def remember(self, slot: int, budget: Floats, step: Floats) -> None:
        """Keep what was paid and by how much the release changed; the first release has none before it."""
        self.paid[:, slot] = budget
        if slot:
            self._squares[:, slot] = (step**2).mean(axis=1)
            self._steps[:, slot] = np.abs(step).mean(axis=1)
            self._changed[:, slot] = step.any(axis=1)

    def _releases(self, slot: int) -> Floats:
        """c: how many releases a window should have, from the releases of the last 2w slots (axes: segment)."""
        recent = slice(max(0, slot - 2 * self._window), slot)
        changed, squares, steps = (x[:, recent].sum(axis=1) for x in (self._changed, self._squares, self._steps))
        many = np.maximum(changed, 1)  # where nothing changed, the sums are 0 and c is 1
        variance = squares / many - (steps / many) ** 2
        return np.maximum(1.0, np.floor(self._release * np.sqrt(np.maximum(variance, 0.0) / 12)))

    def _look_back(self, slot: int) -> _SpasWindow:
        begin = max(0, slot - self._window + 1)
        booked = self._booked[:, begin:slot]
        any_spent = (booked > 0).any(axis=1)
        first = np.where(any_spent, begin + (booked > 0).argmax(axis=1), slot)
        return _SpasWindow(self._release - booked.sum(axis=1), first, self._window - (slot - first))

    def _above(self, slot: int, c: Floats) -> Flags:
        """Whether the noisy step of the raw counts is above the noisy threshold; sensitivity is taken as 1."""
        change = np.abs(self._counts[:, slot] - self._counts[:, slot - 1]).mean(axis=1)
        noisy = change + 4 * c / self._threshold * self._random.laplace(size=len(change))
        return noisy > c / self._release + self._rho
