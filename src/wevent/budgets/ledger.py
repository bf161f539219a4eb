"""Offers, charges, settles and forfeits slots: the one way in which rows spend.

The life of a slot (SPEC §8): `offer`, `charge` before anything is drawn, `settle` after it. A slot that is charged and
never settled is lost: the charge stays. Only this file changes what was spent, for all rows or for none, and never
above the room, in total over change and publish budgets and all live versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wevent.budgets.codec import pack, unpack
from wevent.budgets.declarations import Declarations
from wevent.budgets.history import History
from wevent.budgets.pasts import Pasts
from wevent.budgets.refusals import refuse_overspend
from wevent.budgets.schedules import Proposal, Schedule
from wevent.budgets.single import Single
from wevent.budgets.versions import Versions
from wevent.errors import BudgetExceeded, NotCharged, WrongRequirementKind
from wevent.settings import Privacy
from wevent.units import MAX_EPSILON, NANO, Units, to_window

if TYPE_CHECKING:  # numba
    from wevent.budgets.individual.rows import IndividualRows


@dataclass(frozen=True, slots=True)
class Offer:
    """What each row may spend in a slot: already cut to the room (axes: row).

    Attributes:
        slot: the slot it is for.
        change_budget: for measuring change; spent whatever follows.
        publish_budget: for publishing; refunded if nothing is published.
        nullified: some row rests, so nothing is published in this slot.
        due: whether the schedule wants to publish in this slot; a trigger may publish before.
    """

    slot: int
    change_budget: Units
    publish_budget: Units
    nullified: bool
    due: bool = True


class Ledger(Single, Pasts):
    """Rows whose budget can be spent, slot by slot.

    Guarantees:
        No charge is accepted that would take any window of any live version of any row above its budget.
        A refused charge changes nothing.
        `from_bytes(to_bytes())` behaves identically; a charge that was not settled before is lost.
        Memory depends on rows and windows, never on how many slots have passed.
    """

    def __init__(self, privacy: Privacy | None = None, history_slots: int = 1, *, fast: bool = False) -> None:
        super().__init__(privacy, history_slots, fast=fast)
        self._charged: Offer | None = None  # from the charge of a slot until it is settled or lost

    # --- the life of a slot --------------------------------------------------------------------

    @property
    def charged(self) -> bool:
        """Whether a slot was charged and not yet settled."""
        return self._charged is not None

    def offer(self, schedule: Schedule) -> Offer:
        """Cut a schedule's proposal for the next slot to the room."""
        self.check_intact()
        self._lose_unsettled()
        view = self.view()
        proposal = schedule.propose(view)
        room = view.room
        change_budget = np.maximum(np.minimum(proposal.change_budget, room), 0)
        publish_budget = np.maximum(np.minimum(proposal.publish_budget, room - change_budget), 0)
        nullified, publish_budget = self._rest(proposal, publish_budget)
        if self.individual is not None:
            change, publish, resting = self._individual_offer(self.individual, schedule, proposal)
            change_budget, publish_budget = self._join(change_budget, change), self._join(publish_budget, publish)
            nullified = nullified or resting
        if nullified and publish_budget.any():
            publish_budget = np.zeros_like(publish_budget)
        return Offer(self.slot, change_budget, publish_budget, nullified, proposal.due)

    def charge(self, offer: Offer) -> None:
        """Spend both budgets of an offer, before anything is drawn; for all rows or for none."""
        self.check_intact()
        self._lose_unsettled()
        if (
            offer.slot != self.slot
            or offer.change_budget.shape != (self.rows,)
            or offer.publish_budget.shape != (self.rows,)
        ):
            raise BudgetExceeded(
                f"a charge for slot {offer.slot} over {offer.change_budget.size} rows does not fit slot {self.slot} "
                f"with {self.rows} rows; take a new offer. Nothing was spent.",
                slot=self.slot,
            )
        outside = self.history.rows
        room = self.view().room
        change_budget, publish_budget = offer.change_budget[:outside], offer.publish_budget[:outside]
        refuse_overspend(change_budget, publish_budget, room, self.slot, first_row=0)
        self._intact = False
        if self.individual is not None:
            both = (offer.change_budget, offer.publish_budget)
            change, publish = (budget[outside:] if outside else budget for budget in both)
            try:
                self.individual.charge(change, publish, first_row=outside)
            except BudgetExceeded:
                self._intact = True
                raise
        self.history.charge(change_budget, publish_budget)
        self._charged = offer
        self._intact = True

    def settle(self, published: bool) -> None:
        """Close the charged slot; the publish budget is refunded if nothing was published."""
        self.check_intact()
        if self._charged is None:
            raise NotCharged(f"slot {self.slot} was not charged; charge it before settling it", slot=self.slot)
        self._intact = False
        offer, self._charged = self._charged, None
        outside = self.history.rows
        if not published:
            self.history.refund(offer.publish_budget[:outside])
        elif offer.publish_budget.any():
            self.last_slot = self.slot
            self._last_spend = offer.publish_budget[:outside].copy()
        self.declarations.close(self.slot, self.sizes > 0)
        if self.individual is not None:
            self.individual.settle(published)
        self.history.close()
        self._view = None
        self._intact = True

    def lose(self) -> None:
        """Give the charged slot up: the whole charge stays spent."""
        self.settle(published=True)

    def forfeit(self, hold: int = 1) -> None:
        """Give the next slot up as if every row had spent the largest budget there is in it.

        For a ledger that came back from an older copy (SPEC §8): nobody knows what the lost copy spent in this slot,
        nor what it promised.

        Args:
            hold: so many slots, the one given up included, leave nobody room. The longest window that anybody may
                have required in the lost copy; 1 if every requirement change is known.

        Guarantees:
            No row, new ones included, has room in any window that reaches back to the slot.
            No row, new ones included, has room in any slot before the given up one plus `hold`.
        """
        hold = to_window(hold)
        self._lose_unsettled()
        self.check_intact()
        everything, nothing = np.full(self.rows, MAX_EPSILON * NANO), np.zeros(self.rows, np.int64)
        outside = self.history.rows
        self._intact = False
        self.history.charge(everything[:outside], nothing[:outside])
        if self.individual is not None:
            self.individual.write(everything[outside:], nothing[outside:])
        self._charged = Offer(self.slot, everything, nothing, nullified=False)
        self.forget(self.slot)
        self.hold_back(self.slot + hold)
        self._intact = True
        self.lose()

    # --- bytes ---------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Everything, for `from_bytes`."""
        return pack(self.state())

    @classmethod
    def from_bytes(cls, data: bytes, privacy: Privacy | None = None) -> Ledger:
        """The same ledger again; a slot that was charged and not settled is lost."""
        return cls.from_state(unpack(data), privacy)

    def state(self) -> dict[str, Any]:
        """Everything, as plain values and arrays."""
        self.check_intact()
        charged = self._charged
        return {
            "history": self.history.state(),
            "versions": self.versions.state(),
            "declarations": self.declarations.state(self.history.rows),
            "individual": None if self.individual is None else self.individual.state(),
            "sizes": self.sizes,
            "last_slot": self.last_slot,
            "last_spend": self._last_spend,
            "free": np.array(self._free, np.int64),
            "charged": None
            if charged is None
            else {"change_budget": charged.change_budget, "publish_budget": charged.publish_budget},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], privacy: Privacy | None = None) -> Ledger:
        """The ledger of a state; a slot that was charged and not settled is lost."""
        ledger = cls(privacy)
        ledger.history = History.from_state(state["history"])
        ledger.versions = Versions.from_state(state["versions"])
        ledger.declarations = Declarations.from_state(state["declarations"], fast=ledger.fast)
        if state["individual"] is not None:
            from wevent.budgets.individual.rows import IndividualRows

            ledger.individual = IndividualRows(ledger.declarations.table, ledger.span, ledger.slot)
            ledger.individual.restore(state["individual"])
        ledger.sizes, ledger._last_spend = state["sizes"], state["last_spend"]
        ledger.last_slot, ledger._free = state["last_slot"], state["free"].tolist()
        if state["charged"] is not None:
            parts = state["charged"]
            ledger._charged = Offer(ledger.slot, parts["change_budget"], parts["publish_budget"], nullified=False)
            ledger.lose()
        return ledger

    # --- inside --------------------------------------------------------------------------------

    def _individual_offer(
        self, individual: IndividualRows, schedule: Schedule, proposal: Proposal
    ) -> tuple[Units, Units, bool]:
        """Both budgets of individual rows, cut to the room, and whether one of them makes everybody rest."""
        if schedule.dynamic == "rows":
            raise WrongRequirementKind(
                f"{schedule.name} does not serve individual rows; make the ledger or the publisher with fast=False"
            )
        if schedule.dynamic == "paced":
            return (*individual.offer_paced(proposal.interval), False)
        return individual.offer(schedule.dynamic, self.privacy.rest)

    def _rest(self, proposal: Proposal, publish_budget: Units) -> tuple[bool, Units]:
        if proposal.resting is None:
            return False, publish_budget
        resting = proposal.resting & (self.sizes > 0)
        if self.privacy.rest == "own":
            return False, np.where(resting, 0, publish_budget)
        return bool(resting.any()), publish_budget

    def _lose_unsettled(self) -> None:
        if self._charged is not None:
            self.lose()
