"""Measures a lower bound of a mechanism's loss on two streams that differ in one person."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from wevent.cohorts.register import Register
from wevent.cohorts.requirement import Fixed
from wevent.events.slot import Slot
from wevent.mechanisms import EstimatorName, publisher_of
from wevent.releases.empirical import EmpiricalLoss, lower_bound, observed
from wevent.settings import Privacy
from wevent.units import to_epsilon

LONGEST = 3
"""Longer windows are tested as this many slots of the same budget: more slots tell less per run."""


@dataclass(frozen=True, slots=True)
class NeighbourTrial:
    """What was tested and what came out.

    Attributes:
        promise: epsilon over the window that was tested.
        window: in slots.
        loss: the lower bound.
    """

    promise: float
    window: int
    loss: EmpiricalLoss

    @property
    def refuted(self) -> bool:
        """Whether the runs show more loss than was promised."""
        return self.loss.refutes(self.promise)


def try_mechanism(
    mechanism: str, privacy: Privacy, epsilon: int, window: int, runs: int, estimator: EstimatorName | None = None
) -> NeighbourTrial:
    """Run a mechanism with and without one person's rows in a whole window, `runs` times each.

    Args:
        mechanism: the name of a recipe.
        privacy: its settings.
        epsilon: the person's budget, in units.
        window: the person's window.
        runs: how many on each stream.
        estimator: of `auto`.

    Guarantees:
        With probability 0.999 the bound is not above the true loss.
    """
    slots = min(window, LONGEST)
    asked = Fixed(to_epsilon(epsilon), slots)
    people = {"target": asked, "other": asked, "strict": Fixed(to_epsilon(max(2 * slots, epsilon // 2)), slots)}
    others = {"other": 0, "strict": 1}

    def run(stream: int, number: int) -> Hashable:
        publisher = publisher_of(mechanism, Register.from_rows(people), 2, estimator, privacy=privacy, fast=False)
        places = {**others, "target": 0} if stream else others
        released = [publisher.step(Slot(slot, places)) for slot in range(1, slots + 1)]
        return observed(released, [[1, 1]] * slots, largest_step=2)

    return NeighbourTrial(epsilon / 1e9, slots, lower_bound(run, runs))
