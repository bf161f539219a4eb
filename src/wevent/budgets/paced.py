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

from wevent.budgets.now import Now
from wevent.budgets.schedules import Planned, Predict, Proposal, Serves
from wevent.units import UNBOUNDED, Units

_STEP = 1.5
"""Intervals that are tried grow by this factor."""

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, spread evenly however many there are."""

_TURNS = 987

_NEARLY_ALL = 0.95
"""Of all people; in a crowd whose requirements move somebody is always short of budget."""


class Paced(Planned):
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
        self._planned = -1  # the last publication that was looked at; 0 is before the first
        self._turn = 0

    def propose(self, now: Now) -> Proposal:
        """An equal part of the budget if the interval is over."""
        nothing = np.zeros(now.rows, np.int64)
        if not self.due(now):
            return Proposal(nothing, nothing)
        return Proposal(nothing, now.paced(self.interval), interval=self.interval)

    def due(self, now: Now) -> bool:
        """Whether the interval since the last publication is over."""
        stretch = int(self._turn * _GOLDEN % 1.0 * (self.interval // 4 + 1))
        waited = now.slot - now.last_slot
        if now.last_slot == 0 or waited < self.interval:
            return now.last_slot == 0
        return waited >= now.ahead.longest_window or (waited >= self.interval + stretch and self._payable(now))

    def _payable(self, now: Now) -> bool:
        """Whether the windows leave nearly all people most of what is proposed: who has less would hardly count."""
        ahead = now.ahead
        wanted = ahead.paced_after(self.interval, 0)
        enough = (ahead.room_after(0) >= wanted - wanted // 4) | (wanted >= UNBOUNDED)
        return bool(ahead.sizes[enough].sum() >= _NEARLY_ALL * ahead.sizes.sum())

    def plan(self, now: Now, predict: Predict) -> None:
        """After each publication, the interval of least foretold error, with what the windows will leave then."""
        if now.last_slot == self._planned:
            return
        self._planned, self._turn = now.last_slot, (self._turn + 1) % _TURNS
        ahead = now.ahead
        intervals = _intervals(ahead.longest_window)
        waited = now.slot - now.last_slot if now.last_slot else np.inf
        offers = [self._offer(ahead, int(k), max(0, int(k - min(waited, k)))) for k in intervals]
        errors = predict(intervals, np.array(offers))
        if errors is not None and np.isfinite(errors).any():
            self.interval = int(intervals[np.argmin(errors)])

    def _offer(self, now: Now, interval: int, wait: int) -> Units:
        offer = np.minimum(now.paced_after(interval, wait), now.room_after(wait))
        return np.where(offer < UNBOUNDED, offer, 0)

    def state(self) -> dict[str, Any]:
        """The interval, and since when."""
        return {"interval": self.interval, "planned": self._planned, "turn": self._turn}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""
        self.interval, self._planned, self._turn = state["interval"], state["planned"], state["turn"]


class Watched(Paced):
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

    def propose(self, now: Now) -> Proposal:
        """A tenth of E/w for looking, and nine tenths of an equal part of the budget."""
        self.due_now = self.due(now)
        return Proposal(now.rate // 10, _nine_tenths(now.paced(self.interval)))

    def _offer(self, now: Now, interval: int, wait: int) -> Units:
        known = now.rate < UNBOUNDED
        looking = np.where(known, now.rate // 10, 0) * (wait + 1)
        left = np.maximum(now.room_after(wait) - looking, 0)
        return np.where(known, np.minimum(_nine_tenths(now.paced_after(interval, wait)), left), 0)


def _nine_tenths(budgets: Units) -> Units:
    return budgets - -(-budgets // 10)


def _intervals(longest: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers from 1 to the longest window, each about half as much again as the last."""
    steps = np.arange(int(np.ceil(np.log(longest) / np.log(_STEP))) + 1 if longest > 1 else 1)
    return np.unique(np.append(np.minimum(np.floor(_STEP**steps), longest), longest).astype(np.int64))
