"""Has the stream changed enough to publish? Part-1 budgets and the last published counts come in, a verdict goes out.

DC of SPEC §4, [Du25] Alg. 2: the distance to the last published release, measured privately on whole
numbers, against the error that a fresh release would have.
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
        jump: by how much the mean cell has moved more than it usually does, if that is why; otherwise 0.
    """

    publish: bool
    change: Change | None = None
    jump: float = 0.0


class Trigger(ABC):
    """Decides whether a fresh release is worth its budget.

    A trigger that learns overrides `state` and `restore`; the others have no state.
    """

    @abstractmethod
    def decide(
        self,
        tally: Tally,
        offer: Offer,
        selection: Selection,
        reference: Counts,
        sizes: npt.NDArray[np.int64],
        sensitivity: int,
        noise: Noise,
    ) -> Verdict:
        """The verdict for one slot; `selection` is what a publication would use."""

    def state(self) -> dict[str, Any]:
        """Everything that it has learned, as plain values and arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027 - most have no state
        """Continue from what `state` returned."""


def measure_change(
    tally: Tally,
    change_budget: Units,
    reference: npt.NDArray[np.float64] | Counts,
    sizes: npt.NDArray[np.int64],
    sensitivity: int,
    noise: Noise,
) -> Change | None:
    """How far the slot is from the last published counts; None if nobody has part-1 budget.

    Guarantees:
        Everything that meets noise is whole: the reference is rounded first.
        A person loses at most their part-1 budget by it.
    """
    selection = choose_threshold(change_budget, sizes, sensitivity)
    if selection.threshold == 0:
        return None
    kept = keep_people(tally, selection, sizes, noise)
    distance = np.abs(kept - np.rint(reference).astype(np.int64)).sum(keepdims=True)
    noisy = noise.laplace(distance, sensitivity=sensitivity, epsilon=as_fraction(selection.threshold))
    return Change(int(noisy[0]) / kept.size, selection)


def deviation(selection: Selection, sensitivity: int) -> float:
    """The bar of [Du25]: root of the expected squared error of a fresh release."""
    return math.sqrt(selection.error)


def scale(selection: Selection, sensitivity: int) -> float:
    """The bar of [Kellaris14]: the scale of the noise of a fresh release."""
    return sensitivity * NANO / selection.threshold if selection.threshold else math.inf


class PublishThreshold(Protocol):
    """How much change is worth a release."""

    def __call__(self, selection: Selection, sensitivity: int) -> float:
        """The least distance that publishes."""
        ...


class ChangeTrigger(Trigger):
    """Publish when the measured change is above a bar."""

    def __init__(self, bar: PublishThreshold = deviation) -> None:
        self.bar = bar

    def decide(
        self,
        tally: Tally,
        offer: Offer,
        selection: Selection,
        reference: Counts,
        sizes: npt.NDArray[np.int64],
        sensitivity: int,
        noise: Noise,
    ) -> Verdict:
        """Measure, then compare."""
        change = measure_change(tally, offer.change_budget, reference, sizes, sensitivity, noise)
        if change is None:
            return Verdict(publish=False)
        return Verdict(selection.threshold > 0 and change.distance > self.bar(selection, sensitivity), change)
