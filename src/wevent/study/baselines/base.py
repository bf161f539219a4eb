"""Runs a slot of a baseline: charge, draw, settle, on the product's ledger.

A baseline proposes what each row of its ledger would spend, the ledger cuts that to the room and is charged
before anything is drawn. So a baseline that would overspend a window gets less budget or an error, never a result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Required, TypedDict

import numpy as np
import numpy.typing as npt

from wevent import Decision, Privacy, Register, Slot
from wevent.errors import SlotOutOfOrder, TooManyCells, WrongShape
from wevent.extend import Counts, Domain, Ledger, Noise, Offer, Units, strictest


@dataclass(frozen=True, slots=True)
class BaselineRelease:
    """What a baseline shows for one slot; counts may be fractional (axes: cell)."""

    slot: int
    counts: npt.NDArray[np.float64] = field(repr=False)
    decision: Decision


@dataclass(frozen=True, slots=True)
class DesiredSpend:
    """What a baseline would spend in the next slot, row by row, in units.

    Attributes:
        change_budget: spent in any case (axes: row).
        publish_budget: refunded if the draw does not publish (axes: row).
        nullified: nothing may be published in this slot: it rests.
    """

    change_budget: Units
    publish_budget: Units
    nullified: bool = False


@dataclass(frozen=True, slots=True)
class BaselineSpend:
    """What each row spent in the last slot, in units (axes: row)."""

    slot: int
    spent: Units = field(repr=False)


class BaselineOptions(TypedDict, total=False):
    """What every baseline takes besides register and cells."""

    noise: Required[Noise]
    privacy: Privacy | None
    complete: bool


class Baseline(ABC):
    """A mechanism of the literature, slot by slot.

    Attributes:
        name: in configurations of a study.
        feeds: "rows" takes `Slot.counts` of shape (row of the register, cell); "people" takes `Slot.places`, the
            cell of each registered person, -1 for absent.
        proven: whether the privacy of what is drawn is proven; False means that budgets are counted only.

    Guarantees:
        Every window of every row of the ledger holds at most its budget, whatever is drawn.
        A slot is drawn once and in order; bad input raises before anything is spent.
        An error after the charge makes the slot lost: the charge stays, the counts repeat.
    """

    name: ClassVar[str]
    feeds: ClassVar[Literal["rows", "people"]] = "rows"
    proven: ClassVar[bool] = True

    def __init__(
        self,
        register: Register,
        cells: int | Sequence[Hashable],
        *,
        noise: Noise,
        privacy: Privacy | None = None,
        complete: bool = False,
    ) -> None:
        self.privacy = privacy or Privacy()
        self.check(register)
        self.domain = Domain(cells)
        self.noise = noise
        self.complete = complete
        self.common = strictest(register)
        self.sizes = register.sizes.copy()
        self.people = int(self.sizes.sum())
        self._most = self.sizes * self.privacy.contributions
        self.ledger = Ledger(self.privacy)
        self.open_rows(register)
        self.shown = np.zeros(len(self.domain))
        self.trace: BaselineSpend | None = None

    # --- what a baseline says --------------------------------------------------------------------

    def check(self, register: Register) -> None:  # noqa: B027 -- most baselines serve every register
        """Refuse a register or `privacy` that the baseline cannot serve."""

    def open_rows(self, register: Register) -> None:
        """Open the ledger's rows; by default one for everybody, by the strictest requirement."""
        self.ledger.open_row(self.common, self.people)

    @abstractmethod
    def propose(self) -> DesiredSpend:
        """What it would like to spend in the next slot; may use public things only."""

    @abstractmethod
    def draw(self, data: Counts, offer: Offer) -> npt.NDArray[np.float64] | None:
        """New counts to show, or None to repeat the last ones, for what the ledger granted.

        Args:
            data: counts of shape (row of the register, cell) or places, as `feeds` says.
            offer: what was charged; the publish budget is refunded after None.
        """

    def paid(self, row: int = 0) -> Units:
        """The publish budgets that a row spent in the last w - 1 slots, oldest first; for `propose` (axes: slot)."""
        return self.ledger.history.spends(row)[1]

    # --- the life of a slot ----------------------------------------------------------------------

    def step(self, slot: Slot) -> BaselineRelease:
        """Charge, draw, settle."""
        if slot.number != self.ledger.slot:
            raise SlotOutOfOrder(
                f"slot {slot.number} came where slot {self.ledger.slot} was due. Nothing was spent.",
                slot=slot.number,
                expected=self.ledger.slot,
            )
        data = self._read(slot)
        offer = self._cut(self.propose())
        self.ledger.charge(offer)
        charged = offer.change_budget + offer.publish_budget
        try:
            self.noise.rekey()
            counts = None if offer.nullified else self.draw(data, offer)
        except BaseException:
            self.ledger.lose()
            self.trace = BaselineSpend(offer.slot, charged)
            raise
        self.ledger.settle(counts is not None)
        self.trace = BaselineSpend(offer.slot, offer.change_budget if counts is None else charged)
        if counts is not None:
            self.shown = np.array(counts, np.float64)
            self.shown.flags.writeable = False
            return BaselineRelease(offer.slot, self.shown, Decision.PUBLISHED)
        return BaselineRelease(offer.slot, self.shown, Decision.NULLIFIED if offer.nullified else Decision.SKIPPED)

    def _cut(self, desired: DesiredSpend) -> Offer:
        """Cut what is desired to the room."""
        room = self.ledger.room()
        change_budget = np.clip(desired.change_budget, 0, room)
        publish_budget = np.clip(desired.publish_budget, 0, 0 if desired.nullified else room - change_budget)
        return Offer(self.ledger.slot, change_budget, publish_budget, desired.nullified)

    def _read(self, slot: Slot) -> Counts:
        number, given = slot.number, slot.counts if self.feeds == "rows" else slot.places
        data = np.asarray(given)
        if given is None or data.dtype.kind not in "iu":
            raise WrongShape(f"slot {number}: {self.name} needs whole numbers for its {self.feeds}", slot=number)
        if self.feeds == "rows":
            shape = self._most.size, len(self.domain)
            if data.shape != shape or data.min(initial=0) < 0:
                said = f"counts must be of shape {shape}, (row, cell), and not negative. Nothing was spent."
                raise WrongShape(f"slot {number}: {said}", slot=number)
            if (data > self._most[:, None]).any() or (data.sum(axis=1) > self._most).any():
                limit = self.privacy.contributions
                said = f"counts more in a row than its registered size times {limit} cell(s) allows. Nothing was spent."
                raise TooManyCells(f"slot {number} {said}", slot=number, limit=limit)
        elif data.shape != (self.people,) or data.min(initial=-1) < -1 or data.max(initial=-1) >= len(self.domain):
            said = f"places must hold a cell or -1 for each of {self.people} people"
            raise WrongShape(f"slot {number}: {said}", slot=number)
        return data.astype(np.int64, copy=False)
