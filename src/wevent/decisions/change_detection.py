"""Publishes at the schedule's pace, and earlier when it detects that the stream has jumped (SPEC §13).

`budgets.paced.PacedWithChangeDetection` pays for a measurement of change in every slot with a tenth of the budget. So
small a budget means much noise. The trigger therefore learns the usual distance from earlier measurements, which are
paid for and may steer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wevent.decisions.change import DecisionInput, Trigger, Verdict, error_threshold, measure_change, scale_threshold
from wevent.decisions.selection import Selection

_LEARNING_RATE = 0.05
"""Weight of the newest distance in the usual distance."""

_JUMP_DEVIATIONS = 6.0
"""A jump is so many mean deviations above the usual distance; Laplace noise alone reaches that once in 800 slots."""

_CERTAIN_SCALES = 12.0
"""A distance of so many noise scales is detected with near certainty."""

_LEARNING_SLOTS = 20
"""In so many first slots the trigger learns the usual distance and detects no jump."""


def smallest_detectable_change(selection: Selection, sensitivity: int, cells: int) -> float:
    """The smallest jump of the mean cell that a measurement at this threshold detects; infinite without a budget."""
    return _CERTAIN_SCALES * scale_threshold(selection, sensitivity) / cells


class ChangeDetectionTrigger(Trigger):
    """Publishes when the interval is over, or when the measured change is far above the usual and worth a release.

    Guarantees:
        The change budget is spent on measuring in every slot, whatever follows.
        The verdict depends on the schedule's clock and on noisy distances only.
    """

    def __init__(self) -> None:
        self._usual = self._deviation = 0.0  # of the distances so far, jumps left out
        self._measured = 0  # distances learned from, at most _LEARNING_SLOTS

    def decide(self, given: DecisionInput) -> Verdict:
        """Measure the change, compare it with the usual distance, learn from it."""
        payable = given.selection.threshold > 0
        change = measure_change(
            given.tally, given.offer.change_budget, given.reference, given.sizes, given.sensitivity, given.noise
        )
        if change is None:
            return Verdict(given.offer.due and payable)
        excess = change.distance - self._usual
        jumped = self._measured >= _LEARNING_SLOTS and excess > _JUMP_DEVIATIONS * self._deviation
        if jumped and payable and excess > error_threshold(given.selection, given.sensitivity):
            return Verdict(publish=True, change=change, jump=excess)  # not learned: it is not usual
        self._learn(change.distance)
        return Verdict(given.offer.due and payable, change)

    def _learn(self, distance: float) -> None:
        self._measured = min(self._measured + 1, _LEARNING_SLOTS)
        learning = self._measured < _LEARNING_SLOTS
        rate = max(_LEARNING_RATE, 1 / self._measured) if learning else _LEARNING_RATE
        if not learning:  # one large distance does not make large ones usual
            distance = min(distance, self._usual + _JUMP_DEVIATIONS * self._deviation)
        self._deviation += rate * (abs(distance - self._usual) - self._deviation)
        self._usual += rate * (distance - self._usual)

    def state(self) -> dict[str, Any]:
        """The usual distance and how many were measured."""
        return {"usual": np.array([self._usual, self._deviation]), "measured": self._measured}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._usual, self._deviation = state["usual"].tolist()
        self._measured = state["measured"]
