"""Proposes, NOT PRIVATE, what the released code offered in a slot of a segment.

Axes of offers: segment, type. Slots of a segment count from 0 here, from 1 in the formulas of SPEC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wevent.study.protocols.printed_methods.segments import LENGTH, Array, Flags, Floats


@dataclass(frozen=True, slots=True)
class PrintedOffer:
    """For measuring change and for publishing (axes: segment, type)."""

    change_budget: Floats
    publish_budget: Floats


class PrintedSchedule(Protocol):
    """What is offered in a slot, and what is remembered of it."""

    def offer(self, slot: int) -> PrintedOffer:
        """Change and publish budgets in a slot of all segments."""

    def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
        """Note which segments published (axes: segment)."""


class PrintedTotals:
    """What was written down in a segment so far (axes: segment, type)."""

    def __init__(self, segments: int, types: int) -> None:
        self._totals = np.zeros((LENGTH + 1, segments, types))

    def write(self, slot: int, spent: Floats) -> None:
        """Add what was spent in a slot; slots come in order."""
        self._totals[slot + 1] = self._totals[slot] + spent

    def past(self, slot: int, window: Array) -> Floats:
        """Sum of the `window` slots before this one, each type with its own window."""
        first = np.maximum(slot - window, 0)
        before: Floats = self._totals[first, :, np.arange(len(window))].T
        return self._totals[slot] - before

    def since(self, slot: int, first: int) -> Floats:
        """Sums from each of `first`, …, `slot` to the slot before this one (axes: start, segment, type)."""
        return self._totals[slot] - self._totals[first : slot + 1]


class PrintedDistribution:
    """BD and PBD: half of what is left, but left by w past slots where a window has w-1 of them.

    Axes of `epsilon` and `window`: type.
    """

    def __init__(self, epsilon: Floats, window: Array, segments: int) -> None:
        self._epsilon, self._window = epsilon, window
        self._share = np.tile(epsilon / (2 * window), (segments, 1))
        self._totals = PrintedTotals(segments, len(epsilon))

    def offer(self, slot: int) -> PrintedOffer:
        """(E/2 - Σ)/2, the sum over w slots; SPEC §5 with w-1 is right."""
        left = self._epsilon / 2 - self._totals.past(slot, self._window)
        return PrintedOffer(self._share, np.maximum(left / 2, 0.0))

    def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
        """Only publications cost."""
        self._totals.write(slot, np.where(published[:, None], offer.publish_budget, 0.0))


class PrintedAbsorption:
    """BA and PBA: shares are saved from the start of the segment on; a publication uses none of them up.

    Axes of `epsilon` and `window`: type.
    """

    def __init__(self, epsilon: Floats, window: Array, segments: int) -> None:
        self._window = window
        self._share = np.tile(epsilon / (2 * window), (segments, 1))

    def offer(self, slot: int) -> PrintedOffer:
        """E/(2w)·min(t, w), with t = 1 in the first slot."""
        return PrintedOffer(self._share, self._share * np.minimum(slot + 1, self._window))

    def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
        """Nothing: the released code never wrote a publication down, so it never rested."""


@dataclass(frozen=True, slots=True)
class ForwardRequirements:
    """Forward requirements, declared in every slot of a segment (axes: slot of the segment, segment, type)."""

    epsilon: Floats
    window: Array

    def active(self, slot: int) -> tuple[int, Flags]:
        """The first slot whose declaration may reach `slot`, and which of those from it on do."""
        first = max(0, slot + 1 - int(self.window.max()))
        age = np.arange(slot - first, -1, -1)[:, None, None]
        return first, age < self.window[first : slot + 1]


class _PrintedDynamic:
    """What DPBD and DPBA share."""

    def __init__(self, forward: ForwardRequirements) -> None:
        self._forward = forward
        self._shares = forward.epsilon / (2 * forward.window)

    def _reach(self, slot: int) -> tuple[int, Flags, Floats, Floats]:
        """First slot, then active ones, their shares and half budgets (axes: start, segment, type)."""
        first, active = self._forward.active(slot)
        active_slots = slice(first, slot + 1)
        return first, active, self._shares[active_slots], self._forward.epsilon[active_slots] / 2


class PrintedDynamicDistribution(_PrintedDynamic):
    """DPBD: half of what active declarations leave, but slots that published nothing are charged too."""

    def __init__(self, forward: ForwardRequirements) -> None:
        super().__init__(forward)
        self._totals = PrintedTotals(*forward.epsilon.shape[1:])

    def offer(self, slot: int) -> PrintedOffer:
        """½ min_τ (EF/2 - U(τ)); the backward side never binds."""
        first, active, shares, halves = self._reach(slot)
        left = halves - self._totals.since(slot, first)
        publish_budget = np.where(active, left, np.inf).min(axis=0) / 2
        return PrintedOffer(np.where(active, shares, np.inf).min(axis=0), np.maximum(publish_budget, 0.0))

    def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
        """Every offer is written down, published or not."""
        self._totals.write(slot, offer.publish_budget)


class PrintedDynamicAbsorption(_PrintedDynamic):
    """DPBA: the most that an active declaration saved, one share too many, up to the least half budget."""

    def offer(self, slot: int) -> PrintedOffer:
        """min(max_τ (t-τ+2)·EF/(2wF), min_τ EF/2)."""
        first, active, shares, halves = self._reach(slot)
        saved = np.arange(slot - first + 2, 1, -1)[:, None, None] * shares
        most = np.where(active, saved, 0.0).max(axis=0)
        least = np.where(active, halves, np.inf).min(axis=0)
        return PrintedOffer(np.where(active, shares, np.inf).min(axis=0), np.minimum(most, least))

    def record(self, slot: int, offer: PrintedOffer, published: Flags) -> None:
        """Nothing is written down, so nothing rests."""
