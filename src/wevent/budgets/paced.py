"""Publish every k-th slot: the ledger as it stands comes in, E / ceil(w/k) for each row goes out when it is due.

Where a row is bound by several requirements, fixed versions, forward declarations that are still active or the
backward one of this slot, the least of them counts.

Noise falls with the budget of a publication and the stream drifts between two of them. With process variance q per
slot and variance R of the noise of one slot's budget, the error is least near k = (R/q)^(1/3). How k is chosen is
up to whoever foretells the error from public things (`releases.filters`); the room decides what is really offered.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wevent.budgets.schedules import PlanningSchedule, Predict, Proposal, Serves
from wevent.budgets.view import LedgerView
from wevent.units import UNBOUNDED, Units

Intervals = npt.NDArray[np.int64]

_STEP = 1.5
"""Intervals that are tried grow by this factor."""

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, spread evenly however many there are."""

_TURNS = 987

_WORTH = 1.1
"""A change of pace is worth while where the error is that much more otherwise: the windows must be waited for."""

_OFTEN = 8
"""Slots between two plans, so that they cost little where every slot is published; sooner at the start."""

_NEARLY_ALL = 0.95
"""Of all people; in a crowd whose requirements move somebody is always short of budget."""


class Paced(PlanningSchedule):
    """Every k-th slot, with an equal part of the budget each time.

    Intervals are stretched by up to a quarter, a different part of it each time: a stream with a rhythm of its own,
    such as that of the day, would otherwise always be met in the same phase, and seem not to move at all. After a
    change of pace the windows may still hold what was spent before; then they are waited for, but no longer than the
    longest.

    Args:
        interval: k at the start, and for good if nothing is foretold.

    Guarantees:
        While k and what is asked for stay the same every publication gets E / ceil(w/k): the windows always leave it.
        A dynamic requirement that stays the same gets what a fixed one gets.
        What is proposed depends on requirements, spends and public counts only.
    """

    name: ClassVar[str] = "paced"
    dynamic: ClassVar[Serves] = "paced"

    def __init__(self, interval: int = 1) -> None:
        self.interval = interval
        self._seen = self._planned = -1  # the last publication that was looked at, and planned after; 0 before any
        self._turn = 0

    def propose(self, now: LedgerView) -> Proposal:
        """An equal part of the budget if the interval is over."""
        return self._part(now) if self.due(now) else _nothing(now)

    def _part(self, now: LedgerView) -> Proposal:
        return Proposal(np.zeros(now.rows, np.int64), now.paced(self.interval), interval=self.interval)

    def due(self, now: LedgerView) -> bool:
        """Whether the interval since the last publication is over."""
        stretch = int(self._turn * _GOLDEN % 1.0 * (self.interval // 4 + 1))
        waited = now.slot - now.last_slot
        if now.last_slot == 0 or waited < self.interval:
            return now.last_slot == 0
        return waited >= now.ahead.longest_window or (waited >= self.interval + stretch and self._payable(now))

    def _payable(self, now: LedgerView) -> bool:
        """Whether the windows leave nearly all people most of what is proposed: who has less would hardly count."""
        ahead = now.ahead
        wanted = ahead.paced_after(self.interval, 0)
        enough = (ahead.room_after(0) >= wanted - wanted // 4) | (wanted >= UNBOUNDED)
        return bool(ahead.sizes[enough].sum() >= _NEARLY_ALL * ahead.sizes.sum())

    def plan(self, now: LedgerView, predict: Predict) -> None:
        """After a publication, the interval of least foretold error, with what the windows will leave then."""
        if now.last_slot == self._seen:
            return
        self._seen, self._turn = now.last_slot, (self._turn + 1) % _TURNS
        if self._planned > 0 and now.last_slot - self._planned < min(_OFTEN, self._planned // 2):
            return
        self._planned = now.last_slot
        intervals = _intervals(now.ahead.longest_window)
        waited = now.slot - now.last_slot if now.last_slot else np.inf
        waits = np.maximum(intervals - np.minimum(waited, intervals), 0).astype(np.int64)
        self._choose(now, intervals, waits, predict)

    def _choose(self, now: LedgerView, intervals: Intervals, waits: Intervals, predict: Predict) -> float:
        """Take the interval of least error, and say how much that is; infinite if nothing is foretold."""
        ahead = now.ahead
        offers = [self._offer(ahead, k, wait) for k, wait in zip(intervals.tolist(), waits.tolist(), strict=True)]
        errors = predict(intervals, np.array(offers), self._looking(ahead))
        if errors is None or not np.isfinite(errors).any():
            return np.inf
        best = int(np.argmin(errors))
        now_there = np.flatnonzero(intervals == self.interval)
        if not (now_there.size and errors[now_there[0]] <= _WORTH * errors[best]):
            self.interval = int(intervals[best])
        return float(errors[best])

    def _looking(self, now: LedgerView) -> Units | None:
        """What measuring change costs in every slot; None if it is not measured."""
        return None

    def _offer(self, now: LedgerView, interval: int, wait: int) -> Units:
        offer = now.paced_after(interval, wait)
        return np.where(offer < UNBOUNDED, offer, 0)

    def state(self) -> dict[str, Any]:
        """The interval, and since when."""
        return {"interval": self.interval, "seen": self._seen, "planned": self._planned, "turn": self._turn}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self.interval, self._turn = state["interval"], state["turn"]
        self._seen, self._planned = state["seen"], state["planned"]


class PacedWithChangeDetection(Paced):
    """Paced publishing with an eye on the stream: a tenth of the budget measures change, in equal parts in every slot.

    Part 2 is on offer in every slot, so that a trigger can publish before the interval is over; what the windows leave
    so early is less. Nine tenths are for publications. It serves dynamic rows, but no crowd of them.

    Attributes:
        due_now: whether the interval is over in the slot that was proposed for last.
    """

    name: ClassVar[str] = "watched"
    dynamic: ClassVar[Serves] = "rows"

    def __init__(self, interval: int = 1) -> None:
        super().__init__(interval)
        self.due_now = True

    def propose(self, now: LedgerView) -> Proposal:
        """A tenth of E/w for looking, and nine tenths of an equal part of the budget."""
        self.due_now = self.due(now)
        return Proposal(now.rate // 10, _nine_tenths(now.paced(self.interval)), interval=self.interval)

    def _looking(self, now: LedgerView) -> Units | None:
        return np.where(now.rate < UNBOUNDED, now.rate // 10, 0)

    def _offer(self, now: LedgerView, interval: int, wait: int) -> Units:
        return np.where(now.rate < UNBOUNDED, _nine_tenths(now.paced_after(interval, wait)), 0)


class AdaptivePacing(PacedWithChangeDetection):
    """`Paced`, or `PacedWithChangeDetection` where the stream has jumped and the next jump would be seen, if that foretells less error.

    Guarantees:
        Whether it looks depends on requirements, spends and what is public.
        While anybody has a dynamic requirement it does not look, and stops looking before the slot in which the first
        one is in force: rows of a crowd get no budget for it.
    """

    name: ClassVar[str] = "attentive"
    dynamic: ClassVar[Serves] = "paced"

    def __init__(self, interval: int = 1) -> None:
        super().__init__(interval)
        self.looks = False

    def propose(self, now: LedgerView) -> Proposal:
        """As the one or the other."""
        if self.looks:
            return super().propose(now)
        self.due_now = self.due(now)
        return self._part(now) if self.due_now else _nothing(now)

    def plan(self, now: LedgerView, predict: Predict) -> None:
        """As ever, but not looking where nobody can."""
        self.looks = self.looks and not now.dynamic
        super().plan(now, predict)

    def _choose(self, now: LedgerView, intervals: Intervals, waits: Intervals, predict: Predict) -> float:
        self.looks = False
        without, interval = super()._choose(now, intervals, waits, predict), self.interval
        if now.dynamic:
            return without
        self.looks = True
        best = super()._choose(now, intervals, waits, predict)
        if best >= without:
            self.looks, self.interval = False, interval
        return min(best, without)

    def _looking(self, now: LedgerView) -> Units | None:
        return super()._looking(now) if self.looks else None

    def _offer(self, now: LedgerView, interval: int, wait: int) -> Units:
        return super()._offer(now, interval, wait) if self.looks else Paced._offer(self, now, interval, wait)

    def state(self) -> dict[str, Any]:
        """The interval, since when, and whether it looks."""
        return {**super().state(), "looks": int(self.looks)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        super().restore(state)
        self.looks = bool(state["looks"])


def _nothing(now: LedgerView) -> Proposal:
    nothing = np.zeros(now.rows, np.int64)
    return Proposal(nothing, nothing)


def _nine_tenths(budgets: Units) -> Units:
    return budgets - -(-budgets // 10)


def _intervals(longest: int) -> Intervals:
    """Whole numbers from 1 to the longest window, each about half as much again as the last."""
    steps = np.arange(int(np.ceil(np.log(longest) / np.log(_STEP))) + 1 if longest > 1 else 1)
    return np.unique(np.append(np.minimum(np.floor(_STEP**steps), longest), longest).astype(np.int64))
