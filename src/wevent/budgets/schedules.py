"""Decides how much each row offers to spend in the next slot.

A schedule only proposes; the ledger cuts every proposal to the room (SPEC §2). A proposal holds a change budget, which
measures change, and a publish budget for each row, and says which rows rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from wevent.budgets.view import LedgerView
from wevent.units import UNBOUNDED, Units


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a schedule would like to spend (axes: row).

    Attributes:
        interval: of a paced schedule, for individual rows: what every so many slots may cost; 0 for nothing now.
        due: whether a publication is due in this slot; a trigger may publish before.
    """

    change_budget: Units
    publish_budget: Units
    resting: npt.NDArray[np.bool_] | None = None
    interval: int = 0
    due: bool = True


Serves = Literal["distribution", "absorption", "paced", "rows"] | None
"""How individual rows are served; "rows" if only dynamic rows outside them are, None if only fixed requirements are."""


class ForecastErrors(Protocol):
    """Forecasts errors from public values."""

    def __call__(
        self, intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
    ) -> npt.NDArray[np.float64] | None:
        """Expected squared errors (axes: interval), or None.

        Args:
            intervals: slots from one publication to the next.
            budgets: for each publication (axes: interval, row).
            change_budget: for measuring change in every slot, if it is measured (axes: row).
        """
        ...


class Schedule(ABC):
    """Proposes what to spend; knows nothing of data, noise or releases.

    A schedule that plans overrides `plan`, `state` and `restore`; the others have no state.
    """

    name: ClassVar[str]
    dynamic: ClassVar[Serves] = None

    @abstractmethod
    def propose(self, view: LedgerView) -> Proposal:
        """What it would like to spend in the next slot."""

    def plan(self, view: LedgerView, forecast: ForecastErrors) -> None:  # noqa: B027 - most do not plan
        """Decide, from public values, how to continue after the last slot."""

    def state(self) -> dict[str, Any]:
        """Everything that it has planned, as plain values."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027 - most have no state
        """Continue from what `state` returned."""


def change_share(view: LedgerView) -> Units:
    """Change budget: the least live share, and what a backward side leaves of its half. [Du25] Alg. 3, Alg. 5."""
    if view.backward_left is None:
        return view.share
    return np.minimum(view.share, view.backward_left[0])


class Distribution(Schedule):
    """Offer half of what is left, so that there is always some left. [Du25] Alg. 3.

    For one requirement this is BD of [Kellaris14].
    """

    name: ClassVar[str] = "distribution"

    def propose(self, view: LedgerView) -> Proposal:
        """Half of E/2 less the publications in the window."""
        return Proposal(change_share(view), view.fixed_left // 2)


class DynamicDistribution(Schedule):
    """The same where requirements change: only the forward side is halved. [Du25] Alg. 5.

    Guarantees:
        With a constant forward requirement and a backward one that never binds, the same offers as `Distribution`.
    """

    name: ClassVar[str] = "dynamic distribution"
    dynamic: ClassVar[Serves] = "distribution"

    def propose(self, view: LedgerView) -> Proposal:
        """Half of the least left on the forward side, all of what the backward side leaves."""
        offer = view.fixed_left // 2
        if view.forward_left is not None:
            offer = np.minimum(offer, view.forward_left // 2)
        if view.backward_left is not None:
            offer = np.minimum(offer, view.backward_left[1])
        return Proposal(change_share(view), offer)


class Absorption(Schedule):
    """Save the shares of quiet slots, spend them at once, then rest to pay for it. [Du25] Alg. 4.

    For one requirement this is BA of [Kellaris14].
    """

    name: ClassVar[str] = "absorption"

    def propose(self, view: LedgerView) -> Proposal:
        """The shares saved since the last publication and its rest, at most a window of them."""
        share = view.fixed_share
        resting = np.where(share < UNBOUNDED, -(-view.last_spend // share) - 1, 0)  # N_i, rounded up
        resting = np.maximum(resting, 0)
        waited = view.slot - view.last_slot
        saved = np.clip(waited - resting, 0, view.fixed_window)
        offer = np.where(share < UNBOUNDED, share * np.where(share < UNBOUNDED, saved, 0), UNBOUNDED)
        return Proposal(change_share(view), offer, (waited <= resting) & (view.last_slot > 0))


class DynamicAbsorption(Schedule):
    """The same where requirements change: every active declaration has a border of its own. [Du25] Alg. 6.

    Guarantees:
        With a constant forward requirement and a backward one that never binds, it rests in the same
        slots as `Absorption` on the same history, and otherwise offers at least as much.
    """

    name: ClassVar[str] = "dynamic absorption"
    dynamic: ClassVar[Serves] = "absorption"

    def propose(self, view: LedgerView) -> Proposal:
        """The most that any active declaration has saved, within what all of them leave."""
        fixed = Absorption().propose(view)
        if view.forward_left is None or view.least_saved is None or view.most_saved is None:
            return fixed
        offer = np.minimum(fixed.publish_budget, np.minimum(view.most_saved, view.forward_left))
        if view.backward_left is not None:
            offer = np.minimum(offer, view.backward_left[1])
        resting = view.least_saved <= 0
        return Proposal(fixed.change_budget, offer, resting if fixed.resting is None else fixed.resting | resting)


class Uniform(Schedule):
    """The same small budget in every slot: E/w, nothing for measuring change."""

    name: ClassVar[str] = "uniform"

    def propose(self, view: LedgerView) -> Proposal:
        """E/w."""
        return Proposal(np.zeros(view.rows, np.int64), view.fixed_rate)


class Sample(Schedule):
    """The whole budget at slots 1, 1+w, 1+2w, …, and nothing between; w is the longest window."""

    name: ClassVar[str] = "sample"

    def propose(self, view: LedgerView) -> Proposal:
        """E in one slot of a window."""
        due = (view.slot - 1) % view.longest_window == 0
        nothing = np.zeros(view.rows, np.int64)
        return Proposal(nothing, view.fixed_epsilon if due else nothing)
