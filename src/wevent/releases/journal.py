"""Where slots are kept: charges and releases come in, kept releases go out.

`Journal` is what the publisher needs of a store; `MemoryJournal` keeps the last releases of one
process. A durable one is the store's business.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from wevent.budgets.ledger import Offer
from wevent.errors import SlotOutOfOrder
from wevent.releases.release import Release


class Journal(Protocol):
    """Keeps a slot's charge before anything is drawn, and its release after it.

    Attributes:
        durable: whether it outlives the process; seeded noise is refused then.
    """

    durable: bool

    def find(self, slot: int) -> Release | None:
        """The kept release of a slot, or None if it was never charged."""
        ...

    def charge(self, offer: Offer) -> None:
        """Keep that a slot was charged."""
        ...

    def settle(self, release: Release) -> Release:
        """Keep a slot's release and return what was kept."""
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

    def charge(self, offer: Offer) -> None:
        """Nothing to write: the charge lives in the ledger."""

    def settle(self, release: Release) -> Release:
        """Keep a release."""
        self._kept[release.slot] = release
        self._newest = max(self._newest, release.slot)
        if len(self._kept) > self._keep:
            self._kept.popitem(last=False)
        return release
