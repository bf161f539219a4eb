"""Offers what the author of a mechanism, a data set or a study needs beyond the names of `wevent`.

These names are the extension points. docs/how-to/add-a-mechanism.md shows them at work. `wevent.study` uses `wevent`,
`wevent.errors` and this module, and nothing else of the package: a lint contract holds it to that.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.schedules import Absorption, Distribution, Proposal, Schedule
from wevent.budgets.view import LedgerView
from wevent.cohorts.counting import Counts
from wevent.cohorts.histogram import Domain
from wevent.decisions.change import ChangeTrigger, PublishThreshold, Trigger, error_threshold, scale_threshold
from wevent.decisions.estimators import Estimator
from wevent.decisions.scheduled import ScheduledTrigger
from wevent.events.names import show_name
from wevent.mechanisms import strictest
from wevent.noise import PROBABILITY_BITS, Noise, StudyNoise
from wevent.releases.publisher import Publisher
from wevent.units import NANO, Units, as_fraction, to_epsilon, to_units

__all__ = [
    "NANO",
    "PROBABILITY_BITS",
    "Absorption",
    "ChangeTrigger",
    "Counts",
    "Distribution",
    "Domain",
    "Estimator",
    "Ledger",
    "LedgerView",
    "Noise",
    "Offer",
    "Proposal",
    "PublishThreshold",
    "Schedule",
    "ScheduledTrigger",
    "StudyNoise",
    "Trigger",
    "Units",
    "as_fraction",
    "error_threshold",
    "group_rows",
    "scale_threshold",
    "show_name",
    "strictest",
    "to_epsilon",
    "to_units",
]


def group_rows(publisher: Publisher, names: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    """The ledger row of each group of a register, in the order of `names` (axes: group).

    Counts by row and spends by row follow the order of the ledger, which need not be that of the register.
    """
    return np.array([publisher.members.groups[name] for name in names], np.int64)
