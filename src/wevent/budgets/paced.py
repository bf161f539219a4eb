"""Proposes to publish every k-th slot, with E / ceil(w/k) for each row.

Where several requirements bind a row (fixed versions, active forward sides, the backward side of this slot), the least
of them counts.

Noise falls with the budget of a publication, and the stream drifts between two of them. With process variance q per
slot and variance R of the noise of one slot's budget, the error is least near k = (R/q)^(1/3). A filter forecasts the
error from public values (`releases.filters`), and the schedule chooses k by it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wevent.budgets.schedules import ForecastErrors, Proposal, Schedule, Serves
from wevent.budgets.view import LedgerView
from wevent.units import UNBOUNDED, Units

Intervals = npt.NDArray[np.int64]

_STEP = 1.5
"""Intervals that are tried grow by this factor."""

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, spread evenly however many there are."""

_STRETCHES = 987

_SWITCH_RATIO = 1.1
"""The pace changes only where the old one has this many times the error: the windows must be waited for."""

_SLOTS_BETWEEN_PLANS = 8
"""Slots between two plans, so that they cost little where every slot is published; sooner at the start."""

_NEARLY_ALL = 0.95
"""Of all people; among many individual rows some are always short of budget."""


class Paced(Schedule):
    """Every k-th slot, with an equal part of the budget each time.

    Each interval is stretched by another part of up to a quarter. Otherwise a stream with a period, such as a day,
    would always be measured in the same phase and seem constant. After a change of pace the windows may still hold
    earlier spends; the schedule waits for them, at most as long as the longest window.

    Args:
        interval: k at the start, and for good without forecasts.

    Guarantees:
        While k and the requirements stay the same, every publication gets E / ceil(w/k): the windows always leave it.
        A dynamic requirement that stays the same gets what a fixed one gets.
        What is proposed depends on requirements, spends and public counts only.
    """

    name: ClassVar[str] = "paced"
    dynamic: ClassVar[Serves] = "paced"

    def __init__(self, interval: int = 1) -> None:
        self.interval = interval
        self._seen = -1  # slot of the last publication that `plan` has seen; 0 before any, -1 before the first plan
        self._planned = -1  # the same for the last publication after which the interval was chosen
        self._turn = 0  # how many publications `plan` has seen, modulo _TURNS: selects the stretch

    def propose(self, view: LedgerView) -> Proposal:
        """An equal part of the budget if the interval is over."""
        return self._part(view) if self.due(view) else _nothing(view)

    def _part(self, view: LedgerView) -> Proposal:
        return Proposal(np.zeros(view.rows, np.int64), view.paced(self.interval), interval=self.interval)

    def due(self, view: LedgerView) -> bool:
        """Whether the interval since the last publication is over."""
        stretch = int(self._turn * _GOLDEN % 1.0 * (self.interval // 4 + 1))
        waited = view.slot - view.last_slot
        if view.last_slot == 0 or waited < self.interval:
            return view.last_slot == 0
        if waited >= view.forecast_view.longest_window:
            return True
        return waited >= self.interval + stretch and self._payable(view)

    def _payable(self, view: LedgerView) -> bool:
        """Whether the windows leave nearly all people most of the proposal: a person with less would hardly count."""
        view = view.forecast_view
        wanted = view.forecast_paced(self.interval, 0)
        enough = (view.forecast_room(0) >= wanted - wanted // 4) | (wanted >= UNBOUNDED)
        return bool(view.sizes[enough].sum() >= _NEARLY_ALL * view.sizes.sum())

    def plan(self, view: LedgerView, forecast: ForecastErrors) -> None:
        """After a publication, choose the interval of least forecast error, with what the windows will leave."""
        if view.last_slot == self._seen:
            return
        self._seen, self._turn = view.last_slot, (self._turn + 1) % _STRETCHES
        if self._planned > 0 and view.last_slot - self._planned < min(_SLOTS_BETWEEN_PLANS, self._planned // 2):
            return
        self._planned = view.last_slot
        intervals = _intervals(view.forecast_view.longest_window)
        waited = view.slot - view.last_slot if view.last_slot else np.inf
        waits = np.maximum(intervals - np.minimum(waited, intervals), 0).astype(np.int64)
        self._choose(view, intervals, waits, forecast)

    def _choose(self, view: LedgerView, intervals: Intervals, waits: Intervals, forecast: ForecastErrors) -> float:
        """Take the interval of least error and return that error; infinite without a forecast."""
        view = view.forecast_view
        offers = [self._offer(view, k, wait) for k, wait in zip(intervals.tolist(), waits.tolist(), strict=True)]
        errors = forecast(intervals, np.array(offers), self._change_budget(view))
        if errors is None or not np.isfinite(errors).any():
            return np.inf
        best = int(np.argmin(errors))
        current = np.flatnonzero(intervals == self.interval)
        if not (current.size and errors[current[0]] <= _SWITCH_RATIO * errors[best]):
            self.interval = int(intervals[best])
        return float(errors[best])

    def _change_budget(self, view: LedgerView) -> Units | None:
        """What measuring change costs in every slot; None if it is not measured."""
        return None

    def _offer(self, view: LedgerView, interval: int, wait: int) -> Units:
        offer = view.forecast_paced(interval, wait)
        return np.where(offer < UNBOUNDED, offer, 0)

    def state(self) -> dict[str, Any]:
        """The interval, and after which publication it was chosen."""
        return {"interval": self.interval, "seen": self._seen, "planned": self._planned, "turn": self._turn}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.interval, self._turn = state["interval"], state["turn"]
        self._seen, self._planned = state["seen"], state["planned"]


class PacedWithChangeDetection(Paced):
    """Paced publishing that detects change: a tenth of the budget measures it, in equal parts in every slot.

    Nine tenths are for publications. The publish budget is on offer in every slot, so that a trigger can publish before
    the interval is over; the windows leave less so early. It serves dynamic rows, but no individual ones.
    """

    name: ClassVar[str] = "paced with change detection"
    dynamic: ClassVar[Serves] = "rows"

    def propose(self, view: LedgerView) -> Proposal:
        """A tenth of E/w for measuring change, and nine tenths of an equal part of the budget."""
        part = _nine_tenths(view.paced(self.interval))
        return Proposal(view.rate // 10, part, interval=self.interval, due=self.due(view))

    def _change_budget(self, view: LedgerView) -> Units | None:
        return np.where(view.rate < UNBOUNDED, view.rate // 10, 0)

    def _offer(self, view: LedgerView, interval: int, wait: int) -> Units:
        return np.where(view.rate < UNBOUNDED, _nine_tenths(view.forecast_paced(interval, wait)), 0)


class AdaptivePacing(PacedWithChangeDetection):
    """`Paced`, or `PacedWithChangeDetection` where that has less forecast error: the next jump would be detected.

    Guarantees:
        Whether it detects change depends on requirements, spends and public values.
        While any requirement is dynamic it does not, and it stops before the slot in which the first one is in force:
        individual rows get no change budget.

    Attributes:
        detects_change: whether it behaves as `PacedWithChangeDetection` now; `plan` decides.
    """

    name: ClassVar[str] = "adaptive pacing"
    dynamic: ClassVar[Serves] = "paced"

    def __init__(self, interval: int = 1) -> None:
        super().__init__(interval)
        self.detects_change = False

    def propose(self, view: LedgerView) -> Proposal:
        """As `PacedWithChangeDetection` or as `Paced`."""
        return super().propose(view) if self.detects_change else Paced.propose(self, view)

    def plan(self, view: LedgerView, forecast: ForecastErrors) -> None:
        """As `Paced` plans, and without change detection while any requirement is dynamic."""
        self.detects_change = self.detects_change and not view.dynamic
        super().plan(view, forecast)

    def _choose(self, view: LedgerView, intervals: Intervals, waits: Intervals, forecast: ForecastErrors) -> float:
        self.detects_change = False
        without, interval = super()._choose(view, intervals, waits, forecast), self.interval
        if view.dynamic:
            return without
        self.detects_change = True
        best = super()._choose(view, intervals, waits, forecast)
        if best >= without:
            self.detects_change, self.interval = False, interval
        return min(best, without)

    def _change_budget(self, view: LedgerView) -> Units | None:
        return super()._change_budget(view) if self.detects_change else None

    def _offer(self, view: LedgerView, interval: int, wait: int) -> Units:
        return super()._offer(view, interval, wait) if self.detects_change else Paced._offer(self, view, interval, wait)

    def state(self) -> dict[str, Any]:
        """What `Paced` keeps, and whether it detects change."""
        return {**super().state(), "detects_change": int(self.detects_change)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        super().restore(state)
        self.detects_change = bool(state["detects_change"])


def _nothing(view: LedgerView) -> Proposal:
    nothing = np.zeros(view.rows, np.int64)
    return Proposal(nothing, nothing, due=False)


def _nine_tenths(budgets: Units) -> Units:
    return budgets - -(-budgets // 10)


def _intervals(longest: int) -> Intervals:
    """Whole numbers from 1 to the longest window, each about half as much again as the last."""
    steps = np.arange(int(np.ceil(np.log(longest) / np.log(_STEP))) + 1 if longest > 1 else 1)
    return np.unique(np.append(np.minimum(np.floor(_STEP**steps), longest), longest).astype(np.int64))
