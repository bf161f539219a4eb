"""Publish by the clock: whenever the schedule offers something, without looking at the data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Offer
from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Tally
from wevent.decisions.change import Trigger, Verdict
from wevent.decisions.selection import Selection
from wevent.noise import Noise


class ClockTrigger(Trigger):
    """Publish in every slot that has a budget on offer."""

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
        """Nothing is measured, nothing is spent on deciding."""
        return Verdict(publish=selection.threshold > 0)
