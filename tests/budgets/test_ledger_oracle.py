"""Random histories of requirements: the ledger beside an oracle that recomputes everything anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, Ending, Pair, Tape, dynamic, expected_offers, fixed, own_rows, quick_and_slow

from wevent.budgets.invariant import check_invariant
from wevent.budgets.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Schedule,
)
from wevent.cohorts.requirement import Requirement
from wevent.settings import Privacy, Rest

USERS = ["user-0", "user-1", "user-2"]
BUDGETS = [14, 15, 29, 97, 1000, 1001, 999_999_937, 10**9]
ENDINGS: list[Ending] = ["publish", "publish", "skip", "skip", "lose"]

tapes = st.binary(min_size=60, max_size=140)


def read_requirement(tape: Tape, *, flips: bool) -> Callable[[int], Requirement]:
    """A requirement, given how far the budget is moved so that nobody else has it."""
    is_dynamic, E, w = tape.number(2) and flips, tape.one_of(BUDGETS), 1 + tape.number(7)
    EB, wB = tape.one_of(BUDGETS), 1 + tape.number(7)
    return lambda move: dynamic((E + move, w), (EB, wB)) if is_dynamic else fixed(E + move, w)


def play(pair: Pair, tape: Tape, *, alone: bool, flips: bool) -> None:
    """Run a history and compare in every slot: equal if everybody is alone in a row, never more if not."""
    table = [read_requirement(tape, flips=flips) for _ in range(4)]
    merged: set[Hashable] = set()
    while tape:
        for _ in range(tape.number(4)):
            who, what = tape.number(3), tape.number(6)
            if what < 4:
                pair.require(USERS[who], table[what](2_000_000_000 * who if alone else 0))
            elif what == 4:
                pair.leave(USERS[who])
        singles = own_rows(pair.members)
        offer = pair.offer()
        merged |= singles - own_rows(pair.members)
        check_invariant(pair.members)
        views = pair.views(offer)
        wanted = expected_offers(pair, views)
        if alone:
            rests = pair.absorbs and any(view.oracle.rests(pair.slot, pair.last) for view in views.values())
            assert offer.nullified == (rests and pair.ledger.privacy.rest == "all")
        for user, view in views.items():
            room, border = view.oracle.room(pair.slot), view.oracle.border(pair.slot)
            assert room is not None
            if alone:
                assert view.room == room
                assert (view.change_budget, view.publish_budget) == wanted[user]
                exact = -math.inf if border is None else float(border)
                assert math.isclose(view.border, exact, rel_tol=1e-12, abs_tol=1e-12)
            else:
                assert view.room <= room
                assert view.change_budget <= view.oracle.change_budget(pair.slot)
                # A cohort that takes a person in spent as much in total, not in publish budgets; and those who are
                # remembered pay for rests. Both change the pace, neither changes the room.
                pace = user in merged or (pair.absorbs and (merged or pair.history_slots < 64))
                assert view.publish_budget <= wanted[user][1] or pace
            assert view.change_budget + view.publish_budget <= view.room
        pair.close(offer, tape.one_of(ENDINGS))
    assert all(oracle.violations() == [] for oracle in pair.oracles.values())


KINDS: list[tuple[type[Schedule], Rest]] = [
    (Distribution, "all"),
    (Absorption, "all"),
    (Absorption, "own"),
    (DynamicDistribution, "all"),
    (DynamicAbsorption, "all"),
    (DynamicAbsorption, "own"),
]
# Fixed requirements know one way only.
SERVED = [(schedule, rest, fast) for schedule, rest in KINDS for fast in (FAST if schedule.dynamic else FAST[:1])]
served = pytest.mark.parametrize(("schedule", "rest", "fast"), SERVED)
distributed = pytest.mark.parametrize(
    ("schedule", "fast"), [(schedule, fast) for schedule, rest, fast in SERVED if "Distribution" in schedule.__name__]
)


def alone(schedule: type[Schedule], rest: Rest, fast: bool, data: bytes) -> None:
    pair = Pair(schedule(), privacy=Privacy(rest=rest), history_slots=64, fast=fast)
    play(pair, Tape(data), alone=True, flips=schedule.dynamic is not None)


def forgetting(schedule: type[Schedule], fast: bool, data: bytes) -> None:
    pair = Pair(schedule(), history_slots=7, fast=fast)
    play(pair, Tape(data), alone=True, flips=schedule.dynamic is not None)


def shared(schedule: type[Schedule], rest: Rest, history_slots: int, fast: bool, data: bytes) -> None:
    pair = Pair(schedule(), privacy=Privacy(rest=rest), history_slots=history_slots, fast=fast)
    play(pair, Tape(data), alone=False, flips=schedule.dynamic is not None)


@served
@given(data=tapes)
@settings(max_examples=12, deadline=None)
def test_alone_in_a_row_the_ledger_is_the_oracle(schedule: type[Schedule], rest: Rest, fast: bool, data: bytes) -> None:
    """Room, parts, rests and borders equal the oracle's through joins, leaves, returns, changes and flips."""
    alone(schedule, rest, fast, data)


@distributed
@given(data=tapes)
@settings(max_examples=15, deadline=None)
def test_forgetting_closed_windows_changes_nothing(schedule: type[Schedule], fast: bool, data: bytes) -> None:
    """With the longest window as history_slots, people and rows are forgotten; the numbers stay the oracle's."""
    forgetting(schedule, fast, data)


@served
@pytest.mark.parametrize("history_slots", quick_and_slow([1, 64], [7]))
@given(data=tapes)
@settings(max_examples=4, deadline=None)
def test_in_shared_rows_the_ledger_is_never_more_generous(
    schedule: type[Schedule], rest: Rest, history_slots: int, fast: bool, data: bytes
) -> None:
    """People of equal requirements share rows: no room above the oracle's, and every promise is kept.

    With history_slots=1, windows also reach into slots that were forgotten.
    """
    shared(schedule, rest, history_slots, fast, data)


@pytest.mark.slow
@served
@given(data=st.binary(min_size=100, max_size=250))
@settings(max_examples=150, deadline=None)
def test_alone_in_a_row_thoroughly(schedule: type[Schedule], rest: Rest, fast: bool, data: bytes) -> None:
    """The same as above on many more and longer histories."""
    alone(schedule, rest, fast, data)


@pytest.mark.slow
@distributed
@given(data=st.binary(min_size=100, max_size=250))
@settings(max_examples=50, deadline=None)
def test_forgetting_thoroughly(schedule: type[Schedule], fast: bool, data: bytes) -> None:
    """The same as above on many more and longer histories."""
    forgetting(schedule, fast, data)


@pytest.mark.slow
@served
@pytest.mark.parametrize("history_slots", [1, 7, 64])
@given(data=st.binary(min_size=100, max_size=250))
@settings(max_examples=40, deadline=None)
def test_in_shared_rows_thoroughly(
    schedule: type[Schedule], rest: Rest, history_slots: int, fast: bool, data: bytes
) -> None:
    """The same as above on many more and longer histories."""
    shared(schedule, rest, history_slots, fast, data)
