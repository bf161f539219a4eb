"""Publish when it is due, and before if the stream has jumped: small part-1 budgets come in, a verdict goes out.

Change is measured in every slot with a tenth of the budget (`budgets.paced.PacedWithChangeDetection`) instead of half. So little budget
means much noise: what counts as a jump is learned from the distances that were measured before. These were paid
for, so that they may steer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Offer
from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.change import Trigger, Verdict, deviation, measure_change, scale
from wevent.decisions.selection import Selection
from wevent.noise import Noise

_LEARNING = 0.05
"""Weight of the newest distance in what is usual."""

_UNUSUAL = 6.0
"""So many mean deviations above the usual distance are a jump; Laplace noise alone does it once in 800 slots."""

_CLEAR = 12.0
"""So many scales of its noise a distance must be for a jump to be seen with near certainty."""

_FIRST = 20
"""Slots in which only what is usual is learned."""


def least_seen(selection: Selection, sensitivity: int, cells: int) -> float:
    """The least jump of the mean cell that stands out from what is measured so; infinite if nothing is."""
    return _CLEAR * scale(selection, sensitivity) / cells


class WatchTrigger(Trigger):
    """Publish when the interval is over, or when the measured change is far above the usual and worth a release.

    Guarantees:
        Part 1 is spent on measuring in every slot, whatever follows.
        The verdict depends on the schedule's clock and on noisy distances only.
    """

    def __init__(self) -> None:
        self._usual = self._spread = 0.0
        self._seen = 0

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
        """Measure, compare with what is usual, learn."""
        change = measure_change(tally, offer.change_budget, reference, sizes, sensitivity, noise)
        if change is None:
            return Verdict(offer.due and selection.threshold > 0)
        above = change.distance - self._usual
        jumped = self._seen >= _FIRST and above > _UNUSUAL * self._spread
        worth = selection.threshold > 0 and above > deviation(selection, sensitivity)
        if jumped and worth:
            return Verdict(publish=True, change=change, jump=above)  # not learned: it was unusual
        self._learn(change.distance)
        return Verdict(offer.due and selection.threshold > 0, change)

    def _learn(self, distance: float) -> None:
        self._seen = min(self._seen + 1, _FIRST)
        rate = max(_LEARNING, 1 / self._seen) if self._seen < _FIRST else _LEARNING
        if self._seen == _FIRST:  # one large distance does not make large ones usual
            distance = min(distance, self._usual + _UNUSUAL * self._spread)
        self._spread += rate * (abs(distance - self._usual) - self._spread)
        self._usual += rate * (distance - self._usual)

    def state(self) -> dict[str, Any]:
        """What is usual, as plain values and arrays."""
        return {"usual": np.array([self._usual, self._spread]), "seen": self._seen}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self._usual, self._spread = state["usual"].tolist()
        self._seen = state["seen"]
