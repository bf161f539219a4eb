"""The journal in memory: what is kept is returned as it was, up to a number."""

from __future__ import annotations

import numpy as np
import pytest

from wevent import Fixed, Register, Slot, auto
from wevent.errors import SlotOutOfOrder
from wevent.releases.journal import Charge, MemoryJournal, Outcome
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


class Noting(MemoryJournal):
    """Notes every value that it is given, and fails to keep the first outcome of slot 3."""

    def __init__(self, *, durable: bool) -> None:
        super().__init__()
        self.durable = durable
        self.charges: list[Charge] = []
        self.outcomes: list[Outcome] = []

    def charge(self, charge: Charge) -> None:
        self.charges.append(charge)

    def settle(self, outcome: Outcome) -> Release:
        self.outcomes.append(outcome)
        if len(self.outcomes) == 3:
            raise OSError
        return super().settle(outcome)


@pytest.mark.parametrize("durable", [False, True])
def test_values_hold_everything_that_is_kept(durable: bool) -> None:
    """Charge and outcome hold rows, plan, learned states (where they last) and the caller's context, a loss too."""
    journal, contexts = Noting(durable=durable), [object() for _ in range(3)]
    publisher = auto(Register.from_rows({"ann": Fixed(2, 3), "bob": Fixed(1, 3)}), 2, journal=journal)
    for slot in (1, 2):
        publisher.step(Slot(slot, {"ann": 0}), contexts[slot - 1])
    with pytest.raises(OSError):
        publisher.step(Slot(3), contexts[2])
    assert [(charge.slot, charge.context) for charge in journal.charges] == list(enumerate(contexts, 1))
    assert [outcome.context for outcome in journal.outcomes] == [*contexts, contexts[2]]
    charge, outcome, lost = journal.charges[0], journal.outcomes[0], journal.outcomes[-1]
    assert list(charge.users) == ["ann", "bob"] and charge.rows.tolist() == publisher.members.rows().tolist()
    assert set(charge.plan) == ({"schedule"} if durable else set())
    assert set(outcome.learned) == ({"filter", "trigger"} if durable else set())
    assert outcome.filtered and (lost.slot, lost.release.decision, lost.learned) == (3, Decision.LOST, {})
