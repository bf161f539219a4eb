"""Names a mechanism by its choices on the axes schedule, trigger, estimator and filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wevent.budgets.schedules import Schedule
from wevent.decisions.change import Trigger
from wevent.decisions.estimators import Estimator, Sampled
from wevent.releases.filters import Filter, Unfiltered


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A named choice on each axis, as functions that make it: a class, or anything that is called without arguments.

    Guarantees:
        Two publishers made from one mechanism share nothing that either of them changes.

    Attributes:
        name: as in reports and configurations.
        schedule: makes the schedule, which offers budgets.
        trigger: makes the trigger, which decides whether to publish.
        estimator: makes the estimator, which makes one count out of many budgets.
        filter: makes the filter for a number of cells; it says what is shown.
    """

    name: str
    schedule: Callable[[], Schedule]
    trigger: Callable[[], Trigger]
    estimator: Callable[[], Estimator] = Sampled
    filter: Callable[[int], Filter] = Unfiltered
