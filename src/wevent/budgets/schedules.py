"""How much to offer: the ledger as it stands comes in, a proposal per row goes out.

A schedule only proposes; the ledger cuts every proposal to the room (SPEC §2). Each returns what it
would like for part 1 (measuring change) and part 2 (publishing), and which rows rest.
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
        interval: of a paced schedule, for rows of a crowd: what every so many slots may cost; 0 for nothing now.
    """

    change_budget: Units
    publish_budget: Units
    resting: npt.NDArray[np.bool_] | None = None
    interval: int = 0


Serves = Literal["distribution", "absorption", "paced", "rows"] | None
"""How crowds of dynamic rows are served; "rows" if only outside crowds, None if only fixed requirements are."""


class Schedule(Protocol):
    """Proposes; knows nothing of data, noise or releases."""

    name: ClassVar[str]
    dynamic: ClassVar[Serves]

    def propose(self, now: LedgerView) -> Proposal:
        """The wish for the slot that opens next."""
        ...


class Predict(Protocol):
    """Foretells errors from public things."""

    def __call__(
        self, intervals: npt.NDArray[np.int64], budgets: Units, looking: Units | None = None
    ) -> npt.NDArray[np.float64] | None:
        """Expected squared errors (axes: interval), or None.

        Args:
            intervals: slots from one publication to the next.
            budgets: for each (axes: interval, row).
            looking: budgets for measuring change in every slot, if it is measured (axes: row).
        """
        ...


class PlanningSchedule(ABC):
    """A schedule that looks ahead between slots; it has a public state of its own."""

    @abstractmethod
    def plan(self, now: LedgerView, predict: Predict) -> None:
        """Decide, from what is public, how to go on."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything, as plain values."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Go on with what `state` gave."""


def change_share(now: LedgerView) -> Units:
    """Part 1: the least live share, and what a backward requirement leaves of its half. [Du25] Alg. 3, Alg. 5."""
    if now.backward_left is None:
        return now.share
    return np.minimum(now.share, now.backward_left[0])


class Distribution:
    """Offer half of what is left, so that there is always some left. [Du25] Alg. 3.

    For one requirement this is BD of [Kellaris14].
    """

    name: ClassVar[str] = "distribution"
    dynamic: ClassVar[Serves] = None

    def propose(self, now: LedgerView) -> Proposal:
        """Half of E/2 less the publications in the window."""
        return Proposal(change_share(now), now.fixed_left // 2)


class DynamicDistribution:
    """The same where requirements change: only the forward side is halved. [Du25] Alg. 5.

    Guarantees:
        With a constant forward requirement and a backward one that never binds, the same offers as `Distribution`.
    """

    name: ClassVar[str] = "dynamic distribution"
    dynamic: ClassVar[Serves] = "distribution"

    def propose(self, now: LedgerView) -> Proposal:
        """Half of the least left on the forward side, all of what the backward side leaves."""
        offer = now.fixed_left // 2
        if now.forward_left is not None:
            offer = np.minimum(offer, now.forward_left // 2)
        if now.backward_left is not None:
            offer = np.minimum(offer, now.backward_left[1])
        return Proposal(change_share(now), offer)


class Absorption:
    """Save the shares of quiet slots, spend them at once, then rest to pay for it. [Du25] Alg. 4.

    For one requirement this is BA of [Kellaris14].
    """

    name: ClassVar[str] = "absorption"
    dynamic: ClassVar[Serves] = None

    def propose(self, now: LedgerView) -> Proposal:
        """The shares saved since the last publication and its rest, at most a window of them."""
        share = now.fixed_share
        resting = np.where(share < UNBOUNDED, -(-now.last_spend // share) - 1, 0)  # N_i, rounded up
        resting = np.maximum(resting, 0)
        waited = now.slot - now.last_slot
        saved = np.clip(waited - resting, 0, now.fixed_window)
        offer = np.where(share < UNBOUNDED, share * np.where(share < UNBOUNDED, saved, 0), UNBOUNDED)
        return Proposal(change_share(now), offer, (waited <= resting) & (now.last_slot > 0))


class DynamicAbsorption:
    """The same where requirements change: every active declaration has a border of its own. [Du25] Alg. 6.

    Guarantees:
        With a constant forward requirement and a backward one that never binds, it rests in the same
        slots as `Absorption` on the same history, and otherwise offers at least as much.
    """

    name: ClassVar[str] = "dynamic absorption"
    dynamic: ClassVar[Serves] = "absorption"

    def propose(self, now: LedgerView) -> Proposal:
        """The most that any active declaration has saved, within what all of them leave."""
        fixed = Absorption().propose(now)
        if now.forward_left is None or now.least_saved is None or now.most_saved is None:
            return fixed
        offer = np.minimum(fixed.publish_budget, np.minimum(now.most_saved, now.forward_left))
        if now.backward_left is not None:
            offer = np.minimum(offer, now.backward_left[1])
        resting = now.least_saved <= 0
        return Proposal(fixed.change_budget, offer, resting if fixed.resting is None else fixed.resting | resting)


class Uniform:
    """The same small budget in every slot: E/w, nothing for measuring change."""

    name: ClassVar[str] = "uniform"
    dynamic: ClassVar[Serves] = None

    def propose(self, now: LedgerView) -> Proposal:
        """E/w."""
        return Proposal(np.zeros(now.rows, np.int64), now.fixed_rate)


class Sample:
    """The whole budget at slots 1, 1+w, 1+2w, …, and nothing between; w is the longest window."""

    name: ClassVar[str] = "sample"
    dynamic: ClassVar[Serves] = None

    def propose(self, now: LedgerView) -> Proposal:
        """E in one slot of a window."""
        due = (now.slot - 1) % now.longest_window == 0
        nothing = np.zeros(now.rows, np.int64)
        return Proposal(nothing, now.fixed_epsilon if due else nothing)
