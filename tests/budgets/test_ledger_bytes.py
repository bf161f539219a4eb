"""A ledger as bytes and back: the same offers for ever, and damage that is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, Pair, Tape, dynamic, fixed, quick_and_slow

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.schedules import DynamicAbsorption, DynamicDistribution, Schedule
from wevent.errors import CorruptState
from wevent.settings import Privacy

fast = pytest.mark.parametrize("fast", FAST)
USERS = ["user-0", "user-1", "user-2"]
SCHEDULES: list[Schedule] = [DynamicDistribution(), DynamicAbsorption()]


def play(pair: Pair, tape: Tape, slots: int) -> None:
    """Some slots with joins, leaves, changes and all endings."""
    for _ in range(slots):
        what, who = tape.number(6), tape.one_of(USERS)
        if what == 0:
            pair.require(who, fixed(14 + tape.number(250), 1 + tape.number(6)))
        elif what == 1:
            sides = (14 + tape.number(250), 1 + tape.number(6)), (14 + tape.number(250), 1 + tape.number(6))
            pair.require(who, dynamic(*sides))
        elif what == 2:
            pair.leave(who)
        pair.close(pair.offer(), tape.one_of(["publish", "skip", "lose"]))


def same(first: Offer, second: Offer) -> bool:
    return (
        (first.slot, first.nullified) == (second.slot, second.nullified)
        and np.array_equal(first.change_budget, second.change_budget)
        and np.array_equal(first.publish_budget, second.publish_budget)
    )


def go_on(first: Ledger, second: Ledger, schedule: Schedule, rows: list[int], tape: Tape, slots: int) -> None:
    """The same requests to both; every answer must be the same."""
    for _ in range(slots):
        if tape.number(3) == 0 and rows:
            row = tape.one_of(rows)
            forward = 20 + tape.number(250), 1 + tape.number(9)
            required = dynamic(forward, (14 + tape.number(250), 1 + tape.number(9)))
            for ledger in (first, second):
                ledger.require(row, required)
        offers = first.offer(schedule), second.offer(schedule)
        assert same(*offers)
        assert np.array_equal(first.room(), second.room()) and np.array_equal(first.borders(), second.borders())
        publish = tape.number(2) == 1
        for ledger, offer in zip((first, second), offers, strict=True):
            ledger.charge(offer)
            ledger.settle(publish)
    assert first.to_bytes() == second.to_bytes()


@fast
@pytest.mark.parametrize("schedule", quick_and_slow(SCHEDULES[1:], SCHEDULES[:1]))
@given(data=st.binary(min_size=20, max_size=160), moment=st.integers(0, 14))
@settings(deadline=None)
def test_the_copy_goes_on_like_the_original(schedule: Schedule, fast: bool, data: bytes, moment: int) -> None:
    """At any moment: equal bytes again, and the same offers, rooms and borders in every later slot."""
    tape, privacy = Tape(data), Privacy(rest="own" if moment % 2 else "all")
    pair = Pair(schedule, {USERS[0]: dynamic((999, 4), (700, 3))}, privacy=privacy, history_slots=7, fast=fast)
    play(pair, tape, moment)
    stored = pair.ledger.to_bytes()
    copy = Ledger.from_bytes(stored, privacy)
    assert copy.to_bytes() == stored
    register = pair.members.register
    rows = sorted({int(register.rows[register.position(user)]) for user in USERS if user in register})
    go_on(pair.ledger, copy, schedule, rows, tape, 20)


@fast
@pytest.mark.parametrize("schedule", quick_and_slow(SCHEDULES[:1], SCHEDULES[1:]))
@given(data=st.binary(min_size=20, max_size=80), moment=st.integers(0, 10))
@settings(deadline=None)
def test_what_was_charged_and_not_settled_is_lost(schedule: Schedule, fast: bool, data: bytes, moment: int) -> None:
    """Stored between charge and settlement, the copy stands where the original does after losing the slot."""
    tape = Tape(data)
    pair = Pair(schedule, {USERS[0]: dynamic((999, 4), (700, 3)), USERS[1]: fixed(500, 3)}, fast=fast)
    play(pair, tape, moment)
    slot = pair.slot
    pair.ledger.charge(pair.offer())
    copy = Ledger.from_bytes(pair.ledger.to_bytes())
    assert pair.ledger.charged and not copy.charged
    assert copy.slot == slot + 1
    pair.ledger.lose()
    assert copy.to_bytes() == pair.ledger.to_bytes()
    go_on(pair.ledger, copy, schedule, [], tape, 10)


def some_bytes(fast: bool) -> bytes:
    pair = Pair(DynamicAbsorption(), {USERS[0]: dynamic((999, 4)), USERS[1]: fixed(500, 3)}, fast=fast)
    play(pair, Tape(bytes(range(60))), 9)
    return pair.ledger.to_bytes()


@fast
@given(data=st.data())
@settings(deadline=None)
def test_damage_is_noticed(fast: bool, data: st.DataObject) -> None:
    """One changed bit anywhere raises `CorruptState`."""
    stored = bytearray(some_bytes(fast))
    place = data.draw(st.integers(0, len(stored) - 1))
    stored[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptState):
        Ledger.from_bytes(bytes(stored))


@fast
def test_cut_longer_and_foreign_bytes_are_noticed(fast: bool) -> None:
    """Any cut, anything added and anything else raise `CorruptState`, which is a `ValueError`."""
    stored = some_bytes(fast)
    cuts = [stored[:length] for length in (*range(0, 120), len(stored) // 2, len(stored) - 1)]
    for wrong in [*cuts, stored + b"\0", b"not a ledger", b"wevent-ledger-2\n" + stored[16:]]:
        with pytest.raises(CorruptState) as noticed:
            Ledger.from_bytes(wrong)
        assert isinstance(noticed.value, ValueError)


def test_an_empty_ledger_is_kept_too() -> None:
    """A ledger without rows has bytes, and comes back."""
    ledger = Ledger(history_slots=3)
    copy = Ledger.from_bytes(ledger.to_bytes())
    assert (copy.slot, copy.rows, copy.span) == (1, 0, 3)
    assert copy.to_bytes() == ledger.to_bytes()
