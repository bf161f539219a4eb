"""The invariant of rows is asserted: every way to break it is found, and only where the checks are switched on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.support import FAST, ONE, dynamic, fixed

from wevent import Register
from wevent.budgets.history import History
from wevent.budgets.invariant import SWITCH, check_invariant
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.pasts import Pasts
from wevent.budgets.rows import INDIVIDUAL
from wevent.cohorts.requirement import Requirement
from wevent.cohorts.requirement_change import RequirementChange
from wevent.errors import SlotOutOfOrder

fast = pytest.mark.parametrize("fast", FAST)


def spend(members: Membership, slots: int) -> None:
    for _ in range(slots):
        members.begin_slot()
        ledger = members.ledger
        spent = ledger.room() // 2
        ledger.charge(Offer(ledger.slot, np.zeros_like(spent), spent, nullified=False))
        ledger.settle(published=True)


def stream(fast: bool) -> Membership:
    """People in shared, own and individual rows, one who left, one who returned, and newcomers from a group."""
    people: dict[str, Requirement] = {user: fixed(ONE, 3) for user in "abc"}
    people |= {"d": dynamic((ONE, 3)), "e": fixed(ONE, 4)}
    register = Register.from_rows(people).with_group("others", fixed(ONE, 4), 9)
    members = Membership(register, Ledger(fast=fast), dynamic=True)
    spend(members, 2)
    members.leave("a")
    members.change("b", fixed(ONE, 2))
    spend(members, 1)
    members.join("a", fixed(ONE, 3))
    members.join("f", fixed(2 * ONE, 2))
    members.leave("e")
    members.leave("d")
    check_invariant(members)
    return members


def own_row(members: Membership) -> int:
    return members.register.row("b")


def free_a_departed_row(members: Membership) -> None:
    row = members._departed["d"].rows[0]
    if row < INDIVIDUAL:
        del members.placement._empty[row]
    members.ledger.free_row(row)


def forget_the_group(members: Membership) -> None:
    members.ledger.history.clear(members.register.row("f"))


def forget_its_birth(members: Membership) -> None:
    members.ledger.history._born[members.register.row("f")] = members.ledger.slot


def forget_its_versions(members: Membership) -> None:
    row = members.register.row("f")
    members.ledger.versions.drop_row(row)
    members.ledger.require(row, fixed(2 * ONE, 2))


def lose_an_empty_row(members: Membership) -> None:
    members.placement._empty.clear()


BREACHES: dict[str, Callable[[Membership], None]] = {
    "size": lambda members: members.ledger.resize(own_row(members), 2),
    "freed with a member": lambda members: members.ledger._free.append(own_row(members)),
    "freed twice": lambda members: members.ledger._free.extend([99, 99]),
    "freed while a past needs it": free_a_departed_row,
    "other requirement": lambda members: members.ledger.require(members.register.row("c"), fixed(ONE, 9)),
    "two people in a row of one": lambda members: members.register.move("c", own_row(members)),
    "recorded less": forget_the_group,
    "born later": forget_its_birth,
    "bound by less": forget_its_versions,
    "neither empty nor free": lose_an_empty_row,
}


@fast
@pytest.mark.parametrize("breach", BREACHES)
def test_every_breach_is_found(breach: str, fast: bool) -> None:
    """Whatever breaks the invariant of rows fails the check."""
    members = stream(fast)
    BREACHES[breach](members)
    with pytest.raises(AssertionError, match="row"):
        check_invariant(members)


def test_a_merge_that_forgets_a_birth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a shared row does not take over the older birth, the merge itself fails."""
    monkeypatch.setattr(History, "adopt", lambda self, row, other: None)
    members = Membership(Register.from_rows({"u": fixed(ONE, 2), "x": fixed(ONE, 3)}), Ledger(), dynamic=True)
    spend(members, 1)
    members.change("u", fixed(ONE, 3))
    members.leave("x")
    spend(members, 8)
    members.join("n", fixed(ONE, 3))
    with pytest.raises(AssertionError, match="born after"):
        spend(members, 40)


def test_checks_cost_nothing_unless_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A placement that covers nothing fails in a debug run, and only there."""
    monkeypatch.setattr(Pasts, "branch", lambda self, past: self._new_row())
    debugged, usual = (Membership(Register.from_rows({"c": fixed(ONE, 3)}), Ledger(), dynamic=True) for _ in range(2))
    for members in (debugged, usual):
        spend(members, 1)
    with pytest.raises(AssertionError, match="must cover"):
        debugged.change("c", fixed(ONE, 7))
    monkeypatch.delenv(SWITCH)
    usual.change("c", fixed(ONE, 7))


def test_a_change_for_a_later_slot_is_refused() -> None:
    """What is in force until then must not end early; a change for the next slot, or without a slot, applies."""
    members = stream(fast=False)
    before = str(members.state()), members.ledger.to_bytes()
    with pytest.raises(SlotOutOfOrder):
        members.apply(RequirementChange("c", fixed(9 * ONE, 1), slot=members.ledger.slot + 1))
    assert (str(members.state()), members.ledger.to_bytes()) == before
    members.apply(RequirementChange("c", fixed(9 * ONE, 1), slot=members.ledger.slot))
    members.apply(RequirementChange("c", None))
    assert "c" not in members.register
