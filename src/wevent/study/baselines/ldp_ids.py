"""Implements LDP-IDS by dividing the budget: LBD and LBA.

Everybody reports twice: with half of a slot's share, to measure how far the stream has changed, and with what the
schedule offers if it changed by more than the error of a new estimate. [Ren22]. The schedules are those of BD and BA.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wevent.extend import Absorption, Counts, Distribution, Offer, Schedule
from wevent.study.baselines.base import DesiredSpend
from wevent.study.baselines.local import LocalBaseline


class BudgetDivision(LocalBaseline):
    """A schedule of BD or BA, with reports instead of noisy counts."""

    schedule: ClassVar[Schedule]

    def propose(self) -> DesiredSpend:
        """What the schedule proposes for the one row."""
        proposal = self.schedule.propose(self.ledger.view())
        resting = proposal.resting is not None and bool(proposal.resting.any())
        return DesiredSpend(proposal.change_budget, proposal.publish_budget, resting)

    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """New counts if dis > Var(ε, n)."""
        everybody = data.sum(axis=0)
        first, second = int(offer.change_budget[0]), int(offer.publish_budget[0])
        if first == 0 or second == 0:
            return None
        if self.distance(self.collect(everybody, first)) <= self.error(self.people, second):
            return None
        return self.collect(everybody, second).counts


class LBD(BudgetDivision):
    """Local budget distribution: half of what the publications in the window left. [Ren22]."""

    name: ClassVar[str] = "lbd"
    schedule: ClassVar[Schedule] = Distribution()


class LBA(BudgetDivision):
    """Local budget absorption: take up the shares of quiet slots, then rest. [Ren22]."""

    name: ClassVar[str] = "lba"
    schedule: ClassVar[Schedule] = Absorption()
