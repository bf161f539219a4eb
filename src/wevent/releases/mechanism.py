"""Names a mechanism by its choices on the axes schedule, trigger, estimator and filter."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from wevent.budgets.schedules import Schedule
from wevent.decisions.change import Trigger
from wevent.decisions.estimators import Estimator, Sampled
from wevent.releases.filters import Filter, Unfiltered


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A named choice on the axes schedule, trigger, estimator and filter.

    Schedules and triggers may learn from slot to slot. So this is a pattern: each publisher works with axes of its own.

    Guarantees:
        Two publishers made from one mechanism share nothing that either of them changes.
    """

    name: str
    schedule: Schedule
    trigger: Trigger
    estimator: Estimator = field(default_factory=Sampled)
    filter: Callable[[int], Filter] = Unfiltered

    def fresh(self) -> Mechanism:
        """The same choice with axes of its own; a trigger that follows the schedule follows the new one."""
        schedule, trigger, estimator = copy.deepcopy((self.schedule, self.trigger, self.estimator))
        return Mechanism(self.name, schedule, trigger, estimator, self.filter)

    @property
    def plain(self) -> bool:
        """Whether the last published counts, which are whole, are all that is shown."""
        return self.filter is Unfiltered and self.estimator.integer_counts
