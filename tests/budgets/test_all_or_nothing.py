"""Calls that are refused change nothing: bulk declarations above all, and histories that would be too long."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable

import numpy as np
import pytest
from tests.support import FAST, ONE, dynamic, fixed

from wevent import Limits, Privacy, Register
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.cohorts.requirement import Dynamic, Requirement
from wevent.errors import BudgetError, Infeasible, InvalidRequirement

fast = pytest.mark.parametrize("fast", FAST)
REJECT = Privacy(infeasible="reject")


def everything(members: Membership) -> tuple[bytes, str]:
    return members.ledger.to_bytes(), str(members.state())


def spend(members: Membership, part: float) -> None:
    members.begin_slot()
    ledger = members.ledger
    spent = (ledger.room() * part).astype(np.int64)
    ledger.charge(Offer(ledger.slot, np.zeros_like(spent), spent, nullified=False))
    ledger.settle(published=True)


@fast
def test_a_refused_declaration_takes_no_effect(fast: bool) -> None:
    """With windows longer than the span, some of them infeasible: nobody is changed unless everybody is."""
    refused = accepted = 0
    for seed in range(60):
        rng = random.Random(seed)
        people: dict[Hashable, Requirement] = {k: fixed(ONE, 2) for k in (4, 5)}
        people |= {k: dynamic((ONE, 2), (2 * ONE, rng.randint(1, 3))) for k in range(4)}
        members = Membership(Register.from_rows(people), Ledger(REJECT, fast=fast), dynamic=True)
        for slot in range(1, 12):
            if slot == 8:
                members.join(6, dynamic((ONE, 2), (ONE, 2)))
            members.begin_slot()
            table: list[Dynamic] = [
                dynamic((ONE, 2), (int(rng.choice([0.1, 1, 3]) * ONE), rng.randint(1, 9))) for _ in range(3)
            ]
            choice = np.array([rng.randint(-1, 2) for _ in members.register.users])
            before = everything(members)
            try:
                members.declare(table, choice)
                accepted += 1
            except BudgetError:
                refused += 1
                assert everything(members) == before
            spend(members, rng.choice([0, 0.5, 1]))
    assert refused > 50 and accepted > 50


@fast
def test_a_table_is_checked_as_a_whole(fast: bool) -> None:
    """Two requirements that are each within the ratio of shares and not together are refused together."""
    privacy = Privacy(limits=Limits(share_ratio=10), infeasible="reject")
    people = {k: dynamic((ONE, 2), (ONE, 2)) for k in range(2)}
    members = Membership(Register.from_rows(people), Ledger(privacy, fast=fast), dynamic=True)
    before = everything(members)
    with pytest.raises(InvalidRequirement, match="factor of at most 10"):
        members.declare([dynamic((9 * ONE, 2), (9 * ONE, 2)), dynamic((ONE // 9, 2))], np.array([0, 1]))
    assert everything(members) == before


@fast
def test_reject_refuses_windows_into_forgotten_slots(fast: bool) -> None:
    """Nobody knows what such a window holds, so it is refused, and the longest feasible one is named and accepted."""
    people: dict[Hashable, Requirement] = {"ann": dynamic((ONE, 2), (ONE, 2)), "bob": fixed(ONE, 2)}
    members = Membership(Register.from_rows(people), Ledger(REJECT, fast=fast), dynamic=True)
    for _ in range(9):
        spend(members, 0.1)
    members.begin_slot()
    for user in people:
        before = everything(members)
        with pytest.raises(Infeasible, match="forgotten") as refused:
            members.change(user, dynamic((ONE, 2), (100 * ONE, 5)))
        assert everything(members) == before
        longest = refused.value.fields["longest"]
        assert longest == 2
        members.change(user, dynamic((ONE, 2), (100 * ONE, 2)))


TOO_LONG: list[Callable[[Membership], None]] = [
    lambda members: members.join("new", fixed(ONE, 1001)),
    lambda members: members.join("new", dynamic((ONE, 1001))),
    lambda members: members.join("new", dynamic((ONE, 1), (ONE, 1001))),
    lambda members: members.change("ann", fixed(ONE, 1001)),
    lambda members: members.change("bob", fixed(ONE, 1001)),
    lambda members: members.change("bob", dynamic((ONE, 1001))),
    lambda members: members.change("others", fixed(ONE, 1001)),
    lambda members: members.declare([dynamic((ONE, 1001))], np.array([0, 0])),
]


@fast
@pytest.mark.parametrize("too_long", TOO_LONG)
@pytest.mark.parametrize("slots", [0, 3])
def test_a_history_that_is_too_long_is_refused(too_long: Callable[[Membership], None], slots: int, fast: bool) -> None:
    """Rows times span above the operator's limit: refused before anything changes, and the stream goes on."""
    people: dict[Hashable, Requirement] = {"ann": fixed(ONE, 3), "bob": dynamic((ONE, 3))}
    register = Register.from_rows(people).with_group("others", fixed(ONE, 3), 5)
    members = Membership(register, Ledger(Privacy(limits=Limits(history_cells=2000)), fast=fast), dynamic=True)
    for _ in range(slots):
        spend(members, 0.5)
    members.begin_slot()
    before = everything(members)
    with pytest.raises(InvalidRequirement, match="limit of 2000"):
        too_long(members)
    assert everything(members) == before
    members.change("ann", fixed(ONE, 300))
    spend(members, 0.5)


@fast
def test_a_register_that_is_too_large_is_refused(fast: bool) -> None:
    """At the start too; individual rows count as what they cost."""
    privacy = Privacy(limits=Limits(history_cells=10_000))
    Membership(Register.from_rows({"ann": fixed(ONE, 10_000)}), Ledger(privacy, fast=fast), dynamic=True)
    with pytest.raises(InvalidRequirement, match="limit of 10000"):
        Membership(Register.from_rows({"ann": fixed(ONE, 10_001)}), Ledger(privacy, fast=fast), dynamic=True)
    many = Register.from_rows({k: dynamic((ONE, 100)) for k in range(1000)})
    with pytest.raises(InvalidRequirement, match="limit of 10000"):
        Membership(many, Ledger(privacy, fast=fast), dynamic=True)
    many = Register.from_rows({k: dynamic((ONE, 100)) for k in range(300)})
    if fast:  # 3 bytes for each slot instead of 16
        Membership(many, Ledger(privacy, fast=True), dynamic=True)


def test_one_long_window_does_not_take_all_memory() -> None:
    """200 cohorts and one window of 2²⁰ slots are too much by default, where windows are not limited."""
    people = {k: fixed(ONE + k, 3) for k in range(200)}
    lenient = Privacy(limits=Limits(window=2**20))
    members = Membership(Register.from_rows(people), Ledger(lenient), dynamic=True)
    with pytest.raises(InvalidRequirement, match="shorter window"):
        members.change(0, fixed(ONE, 2**20))
    assert members.ledger.span == 3
