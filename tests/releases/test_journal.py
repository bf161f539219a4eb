"""The journal in memory: what is kept is returned as it was, up to a number."""

from __future__ import annotations

import numpy as np
import pytest

from wevent.errors import SlotOutOfOrder
from wevent.releases.journal import MemoryJournal, Outcome
from wevent.releases.release import Decision, Release


def release(slot: int) -> Release:
    return Release(slot, np.zeros(1, np.int64), Decision.SKIPPED, None, np.full(1, np.inf), None)


def test_kept_releases_come_back() -> None:
    """The very same release, and None for a slot that was never there."""
    journal = MemoryJournal()
    first = release(1)
    assert journal.find(1) is None
    assert journal.settle(Outcome(first)) is first
    assert journal.find(1) is first
    assert journal.find(2) is None


def test_only_the_last_are_kept() -> None:
    """Older ones are refused, with how many are kept and the newest in the message; memory stays bounded."""
    journal = MemoryJournal(keep=3)
    for slot in range(1, 101):
        journal.settle(Outcome(release(slot)))
    assert len(journal._kept) == 3
    for slot in (98, 99, 100):
        found = journal.find(slot)
        assert found is not None and found.slot == slot
    for slot in (1, 97):
        with pytest.raises(SlotOutOfOrder, match=r"last 3 slots .* newest is 100") as refused:
            journal.find(slot)
        assert refused.value.fields == {"slot": slot}


def test_it_does_not_outlive_the_process() -> None:
    """So seeded noise is allowed near it."""
    assert MemoryJournal().durable is False
