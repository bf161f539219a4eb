"""Defines what is kept of every slot: its charge before anything is drawn, its outcome after it.

`Journal` is what a publisher needs of a store, and nothing but values crosses it. `MemoryJournal` keeps the last
releases of one process; `store.journal` keeps all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wevent.budgets.ledger import Offer
from wevent.errors import SlotOutOfOrder
from wevent.releases.release import Release


@dataclass(frozen=True, slots=True, repr=False)
class Charge:
    """Everything that must be kept of a slot before anything is drawn.

    Attributes:
        offer: what each row is charged.
        users: who has each position, as the membership lists them; not to be kept beyond the call (axes: position).
        rows: the row that is charged for each of them, -1 where the owner has left (axes: position).
        groups: the row of each declared group, by name.
        plan: the state of the schedule, as bytes; empty if it plans nothing.
        context: what the caller of `Publisher.step` wants kept with the slot; the publisher does not read it.
    """

    offer: Offer
    users: Sequence[Hashable] = ()
    rows: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Mapping[Hashable, int] = field(default_factory=dict)
    plan: Mapping[str, bytes] = field(default_factory=dict)
    context: object = None

    @property
    def slot(self) -> int:
        """The slot that is charged."""
        return self.offer.slot


@dataclass(frozen=True, slots=True, repr=False)
class Outcome:
    """Everything that must be kept of a slot that is over.

    Attributes:
        release: what is shown.
        learned: the states of filter, trigger and estimator, as bytes by axis; nothing for a lost slot.
        filtered: whether the release shows more than the last published counts, so that all of it must be kept.
        context: as in the slot's `Charge`.
    """

    release: Release
    learned: Mapping[str, bytes] = field(default_factory=dict)
    filtered: bool = False
    context: object = None

    @property
    def slot(self) -> int:
        """The slot that is over."""
        return self.release.slot


class Journal(Protocol):
    """Keeps a slot's charge before anything is drawn, and its outcome after it.

    Attributes:
        durable: whether it outlives the process; seeded noise is refused then.
    """

    durable: bool

    def find(self, slot: int) -> Release | None:
        """The kept release of a slot; None if there is none."""
        ...

    def charge(self, charge: Charge) -> None:
        """Keep that a slot is charged."""
        ...

    def settle(self, outcome: Outcome) -> Release:
        """Keep how a slot ended, and return the release that was kept."""
        ...


class MemoryJournal:
    """The last releases, in memory.

    Guarantees:
        A kept slot is returned as it was; it is never kept twice.
        At most `keep` releases are held.
    """

    durable = False

    def __init__(self, keep: int = 1024) -> None:
        self._keep = keep
        self._kept: OrderedDict[int, Release] = OrderedDict()
        self._newest = 0

    def find(self, slot: int) -> Release | None:
        """The kept release of a slot; one that is no longer kept is refused."""
        if slot <= self._newest and slot not in self._kept:
            raise SlotOutOfOrder(
                f"slot {slot} was released before and is no longer kept; the last {self._keep} slots are, "
                f"the newest is {self._newest}. A slot is released once.",
                slot=slot,
            )
        return self._kept.get(slot)

    def charge(self, charge: Charge) -> None:
        """Keep nothing: the charge lives in the ledger."""

    def settle(self, outcome: Outcome) -> Release:
        """Keep a release."""
        release = outcome.release
        self._kept[release.slot] = release
        self._newest = max(self._newest, release.slot)
        if len(self._kept) > self._keep:
            self._kept.popitem(last=False)
        return release
