"""Decides whether a slot is published: the measured change must exceed a publish threshold.

The rule of `pbd`, `pba`, `dpbd`, `dpba`, `bd` and `ba` is `ChangeTrigger.decide`. It measures the distance to the last
published counts privately (`measure_change`) and compares it with the error that a fresh release would have
(`error_threshold`). DC of SPEC §4, [Du25] Alg. 2. `auto` uses `decisions.change_detection` (publishes at the pace of
`Paced.due`, and early after a jump), `uniform` and `sample` use `decisions.scheduled` (publish what is on offer).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Offer
from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.sampling import keep_people
from wevent.decisions.selection import Selection, choose_threshold
from wevent.noise import Noise
from wevent.units import NANO, Units, as_fraction


@dataclass(frozen=True, slots=True)
class Change:
    """A private measure of change.

    Attributes:
        distance: mean absolute difference per cell, noise included; may be negative.
        selection: the threshold it was measured at.
    """

    distance: float
    selection: Selection


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to publish, and what was measured to decide it.

    Attributes:
        jump: how far the mean cell moved beyond its usual movement, if that is the reason to publish; otherwise 0.
    """

    publish: bool
    change: Change | None = None
    jump: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class DecisionInput:
    """Everything a trigger may use in one slot. The tally is private, so that this value has no repr.

    Attributes:
        tally: the slot's counts without noise.
        offer: the budgets that are charged for this slot.
        selection: the threshold that a publication would use.
        reference: the counts published last (axes: cell).
        sizes: registered people (axes: row).
        sensitivity: how far one person can move the histogram, in L1.
        noise: the only source of randomness.
    """

    tally: Tally
    offer: Offer
    selection: Selection
    reference: Counts
    sizes: npt.NDArray[np.int64]
    sensitivity: int
    noise: Noise


class Trigger(ABC):
    """Decides whether a fresh release is worth its budget; a trigger that learns nothing inherits an empty state."""

    @abstractmethod
    def decide(self, given: DecisionInput) -> Verdict:
        """Whether to publish this slot."""

    def state(self) -> dict[str, Any]:
        """What the trigger has learned, as plain values and arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027 - nothing to restore unless something is learned
        """Continue from what `state` returned."""


class PublishThreshold(Protocol):
    """How much change is worth a release."""

    def __call__(self, selection: Selection, sensitivity: int) -> float:
        """The distance above which a slot is published."""
        ...


def error_threshold(selection: Selection, sensitivity: int) -> float:
    """The root of the expected squared error of a fresh release. [Du25] Alg. 2."""
    return math.sqrt(selection.error)


def scale_threshold(selection: Selection, sensitivity: int) -> float:
    """The scale of the noise of a fresh release. [Kellaris14]."""
    return sensitivity * NANO / selection.threshold if selection.threshold else math.inf


class ChangeTrigger(Trigger):
    """Publishes a slot if the measured change is above the publish threshold."""

    def __init__(self, publish_threshold: PublishThreshold = error_threshold) -> None:
        self.publish_threshold = publish_threshold

    def decide(self, given: DecisionInput) -> Verdict:
        """Measure the change, then compare it with the publish threshold."""
        change = measure_change(
            given.tally, given.offer.change_budget, given.reference, given.sizes, given.sensitivity, given.noise
        )
        if change is None or given.selection.threshold == 0:  # nothing was measured, or nothing is on offer
            return Verdict(publish=False, change=change)
        return Verdict(change.distance > self.publish_threshold(given.selection, given.sensitivity), change)


def measure_change(
    tally: Tally,
    change_budget: Units,
    reference: npt.NDArray[np.float64] | Counts,
    sizes: npt.NDArray[np.int64],
    sensitivity: int,
    noise: Noise,
) -> Change | None:
    """Measure how far the slot is from the last published counts; None if nobody has a change budget.

    Guarantees:
        Only integers meet noise: the reference is rounded first.
        A person loses at most their change budget by it.
    """
    selection = choose_threshold(change_budget, sizes, sensitivity)
    if selection.threshold == 0:
        return None
    kept = keep_people(tally, selection, sizes, noise)
    distance = np.abs(kept - np.rint(reference).astype(np.int64)).sum(keepdims=True)
    noisy = noise.laplace(distance, sensitivity=sensitivity, epsilon=as_fraction(selection.threshold))
    return Change(int(noisy[0]) / kept.size, selection)
