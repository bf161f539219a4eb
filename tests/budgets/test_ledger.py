"""The one road for budget: what it refuses, that a refusal changes nothing, and the life of a slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, ONE, Pair, Tape, dynamic, fixed

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.schedules import Absorption, Distribution, DynamicAbsorption, DynamicDistribution
from wevent.errors import BudgetExceeded, NotCharged
from wevent.units import Units

fast = pytest.mark.parametrize("fast", FAST)
USERS = ["user-0", "user-1", "user-2"]


def played(tape: Tape, fast: bool, *, absorb: bool = False) -> Pair:
    """A ledger after a random past, with rows of all kinds."""
    schedule = DynamicAbsorption() if absorb else DynamicDistribution()
    pair = Pair(schedule, {USERS[0]: dynamic((999, 4), (700, 3)), USERS[1]: fixed(1001, 5)}, fast=fast)
    while tape:
        what, who = tape.number(8), tape.one_of(USERS)
        if what == 0:
            pair.require(who, fixed(14 + tape.number(200), 1 + tape.number(6)))
        elif what == 1:
            sides = (14 + tape.number(200), 1 + tape.number(6)), (14 + tape.number(200), 1 + tape.number(6))
            pair.require(who, dynamic(*sides))
        elif what == 2 and who != USERS[0]:
            pair.leave(who)
        pair.close(pair.offer(), tape.one_of(["publish", "skip", "lose"]))
    return pair


def changed(values: Units, row: int, value: int) -> Units:
    other = values.copy()
    other[row] = value
    return other


@fast
@given(data=st.binary(max_size=40), spare=st.integers(0, 10**6))
@settings(deadline=None)
def test_one_unit_above_the_room_is_refused(fast: bool, data: bytes, spare: int) -> None:
    """Any row, any split over the parts: refused with row and room; not one byte of the ledger changes."""
    pair = played(Tape(data), fast)
    ledger, offer = pair.ledger, pair.offer()
    room, before = ledger.room(), ledger.to_bytes()
    for row in range(ledger.rows):
        most = int(room[row])
        for publish_budget in {0, 1, most + 1, spare % (most + 2)}:
            change_budget = most + 1 - publish_budget
            wanted = replace(
                offer,
                change_budget=changed(offer.change_budget, row, change_budget),
                publish_budget=changed(offer.publish_budget, row, publish_budget),
            )
            with pytest.raises(BudgetExceeded, match=rf"row {row} .* Nothing was spent") as refused:
                ledger.charge(wanted)
            assert refused.value.fields["room"] == Decimal(most).scaleb(-9)
    assert ledger.to_bytes() == before
    whole = replace(offer, change_budget=room, publish_budget=np.zeros_like(room))
    ledger.charge(whole)
    ledger.settle(published=True)
    assert ledger.slot == offer.slot + 1


@fast
@given(data=st.binary(max_size=40))
@settings(deadline=None)
def test_negative_parts_are_refused(fast: bool, data: bytes) -> None:
    """Nobody is paid back by a charge, not even to spend more in the other part."""
    pair = played(Tape(data), fast)
    ledger, offer = pair.ledger, pair.offer()
    before = ledger.to_bytes()
    for row in range(ledger.rows):
        for parts in ((-1, 0), (0, -1), (-5, 5), (int(ledger.room()[row]) + 1, -1)):
            change_budget, publish_budget = (
                changed(offer.change_budget, row, parts[0]),
                changed(offer.publish_budget, row, parts[1]),
            )
            with pytest.raises(BudgetExceeded):
                ledger.charge(replace(offer, change_budget=change_budget, publish_budget=publish_budget))
    assert ledger.to_bytes() == before


def shorter(offer: Offer) -> Offer:
    return replace(offer, change_budget=offer.change_budget[:-1], publish_budget=offer.publish_budget[:-1])


def late(offer: Offer) -> Offer:
    return replace(offer, slot=offer.slot + 1)


@fast
@pytest.mark.parametrize("spoil", [shorter, late])
def test_a_stale_offer_is_refused(spoil: Callable[[Offer], Offer], fast: bool) -> None:
    """A charge for another slot or another number of rows says which slot and how many rows there are."""
    pair = played(Tape(bytes(12)), fast)
    offer = pair.offer()
    before = pair.ledger.to_bytes()
    with pytest.raises(BudgetExceeded, match=rf"does not fit slot {pair.slot} with {pair.ledger.rows} rows"):
        pair.ledger.charge(spoil(offer))
    assert pair.ledger.to_bytes() == before
    pair.close(offer, "publish")


@fast
def test_rows_of_nobody_have_no_room(fast: bool) -> None:
    """A row whose last member left offers nothing, and nothing may be charged to it."""
    pair = Pair(DynamicDistribution(), {USERS[0]: fixed(1000, 3), USERS[1]: dynamic((1000, 3))}, fast=fast)
    rows = pair.members.rows().copy()
    for user in USERS[:2]:
        pair.leave(user)
    offer = pair.offer()
    assert not pair.ledger.room()[rows].any()
    assert not offer.change_budget.any() and not offer.publish_budget.any()
    with pytest.raises(BudgetExceeded):
        pair.ledger.charge(replace(offer, change_budget=changed(offer.change_budget, int(rows[0]), 1)))


@pytest.mark.parametrize("published", [True, False])
def test_settling_needs_a_charge(published: bool) -> None:
    """Settling or losing a slot that was not charged is refused and names the slot."""
    ledger = Ledger()
    ledger.open_row(fixed(ONE, 2), 1)
    with pytest.raises(NotCharged, match="slot 1"):
        ledger.settle(published)
    with pytest.raises(NotCharged, match="slot 1"):
        ledger.lose()
    assert ledger.slot == 1 and not ledger.charged


def test_only_the_publish_budget_is_refunded() -> None:
    """A skipped slot costs the change budget alone; a published or lost one costs the publish budget as well."""
    left = {}
    for ending in ("skip", "publish", "lose"):
        ledger = Ledger()
        ledger.open_row(fixed(80, 4), 1)
        offer = ledger.offer(Distribution())
        assert (offer.change_budget[0], offer.publish_budget[0]) == (10, 20)
        ledger.charge(offer)
        assert ledger.charged
        if ending == "lose":
            ledger.lose()
        else:
            ledger.settle(published=ending == "publish")
        left[ending] = int(ledger.room()[0])
    assert left == {"skip": 70, "publish": 50, "lose": 50}


def test_an_unsettled_charge_is_lost() -> None:
    """The next offer without a settlement makes the slot lost: the whole charge stays."""
    ledger = Ledger()
    ledger.open_row(fixed(80, 4), 1)
    ledger.charge(ledger.offer(Distribution()))
    assert ledger.offer(Distribution()).slot == 2
    assert ledger.room()[0] == 50


def test_a_lost_slot_is_rested_for() -> None:
    """Absorption pays for a lost slot as for a published one, since its charge stays."""
    offers = {}
    for ending in ("publish", "lose"):
        ledger = Ledger()
        ledger.open_row(fixed(80, 4), 1)
        lines = []
        for slot in range(1, 9):
            offer = ledger.offer(Absorption())
            lines.append((offer.nullified, offer.publish_budget.tolist()))
            ledger.charge(offer)
            if slot == 3 and ending == "lose":
                ledger.lose()
            else:
                ledger.settle(published=slot == 3)
        offers[ending] = lines
    assert offers["publish"] == offers["lose"]
    assert [line[0] for line in offers["lose"]] == [False, False, False, True, True, False, False, False]


def test_a_publication_of_nothing_is_none() -> None:
    """Settling as published with nothing on offer does not make absorption wait anew."""
    ledger = Ledger()
    row = ledger.open_row(fixed(80, 4), 1)
    offer = ledger.offer(Absorption())
    ledger.charge(replace(offer, publish_budget=np.zeros_like(offer.publish_budget)))
    ledger.settle(published=True)
    assert ledger.last_slot == 0
    assert ledger.offer(Absorption()).publish_budget[row] == 20


@fast
@given(data=st.binary(min_size=20, max_size=60))
@settings(max_examples=30, deadline=None)
def test_asking_is_free(fast: bool, data: bytes) -> None:
    """Looking at room, borders and offers, however often, changes neither bytes nor later offers."""
    pair = played(Tape(data), fast, absorb=True)
    first = pair.offer()
    before = pair.ledger.to_bytes()
    for _ in range(3):
        again = pair.offer()
        pair.ledger.room(), pair.ledger.borders()
        assert np.array_equal(again.change_budget, first.change_budget) and np.array_equal(
            again.publish_budget, first.publish_budget
        )
    assert pair.ledger.to_bytes() == before


@fast
@pytest.mark.parametrize("absorb", [False, True])
def test_hundreds_of_different_requirements(absorb: bool, fast: bool) -> None:
    """Two people who never require the same get what they would get from a ledger of their own."""
    schedule = DynamicAbsorption() if absorb else DynamicDistribution()
    first = dynamic((1000, 3))
    pair = Pair(schedule, {USERS[0]: first, USERS[1]: first}, fast=fast)
    alone = [Pair(schedule, {user: first}) for user in USERS[:2]]
    for slot in range(2, 402):
        for k, user in enumerate(USERS[:2]):
            required = dynamic((1000 + 2 * slot + k, 1 + slot % 5), (1500 + slot, 1 + slot % 7))
            for each in (pair, alone[k]):
                each.members.change(user, required)
        offer, single = pair.offer(), [each.offer() for each in alone]
        rows = pair.members.rows()
        assert offer.change_budget[rows].tolist() == [int(own.change_budget[0]) for own in single]
        if not absorb:  # one who rests makes the other rest
            assert offer.publish_budget[rows].tolist() == [int(own.publish_budget[0]) for own in single]
        for each in (pair, *alone):
            each.ledger.charge(each.ledger.offer(schedule))
            each.ledger.settle(published=not absorb and slot % 3 == 0)


@fast
def test_memory_depends_on_rows_and_windows_only(fast: bool) -> None:
    """Bytes held are the same after 10 windows and after 100."""
    pair = played(Tape(bytes(3)), fast)
    held = []
    for slot in range(1, 701):
        pair.ledger.charge(pair.offer())
        pair.ledger.settle(published=slot % 3 == 0)
        if slot in (70, 700):
            held.append(pair.ledger.nbytes)
    assert held[0] == held[1]
