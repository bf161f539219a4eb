"""Paced publishing under changing requirements: shares, rooms and plans equal the oracle's, numba equals numpy."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.budgets.test_individual import Twins
from tests.budgets.test_ledger_oracle import ENDINGS, USERS, read_requirement, tapes
from tests.support import FAST, ONE, Pair, Tape, dynamic, fixed

from wevent import Dynamic, Register
from wevent.budgets.forecast import MOST, sample_levels
from wevent.budgets.invariant import check_invariant
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.paced import Paced, PacedWithChangeDetection
from wevent.budgets.schedules import DynamicAbsorption, DynamicDistribution, Schedule
from wevent.cohorts.requirement import Requirement
from wevent.errors import WrongRequirementKind
from wevent.units import UNBOUNDED

fast = pytest.mark.parametrize("fast", FAST)
RequirementOf = Callable[[int], Requirement]


def live(pair: Pair, tape: Tape, table: list[RequirementOf], *, alone: bool) -> None:
    """A few people join, leave, return or change their requirement."""
    for _ in range(tape.number(4)):
        who, what = tape.number(3), tape.number(6)
        if what < 4:
            pair.require(USERS[who], table[what](2_000_000_000 * who if alone else 0))
        elif what == 4:
            pair.leave(USERS[who])


def restart(pair: Pair) -> None:
    """Replace the ledger and its schedule by what their state restores."""
    kept, schedule = Ledger.from_bytes(pair.ledger.to_bytes(), pair.ledger.privacy), pair.schedule
    kept.fast, pair.ledger, pair.members.placement.ledger = pair.ledger.fast, kept, kept
    assert isinstance(schedule, Paced)
    pair.schedule = type(schedule)()
    pair.schedule.restore(schedule.state())


def play(pair: Pair, tape: Tape, *, alone: bool) -> None:
    """Intervals change at any time; a row of one person offers what the oracle says, a shared row never more."""
    table = [read_requirement(tape, flips=True) for _ in range(4)]
    while tape:
        live(pair, tape, table, alone=alone)
        schedule = pair.schedule
        assert isinstance(schedule, Paced)
        if tape.number(3) == 0:
            schedule.interval = 1 + tape.number(9)
        if tape.number(12) == 0:
            restart(pair)
        due = schedule.due(pair.ledger.view())
        offer = pair.offer()
        check_invariant(pair.members)
        assert not offer.nullified
        for user, view in pair.views(offer).items():
            by_oracle = expected(view.oracle, schedule, pair.slot, due)
            if alone:
                assert (view.change_budget, view.publish_budget) == by_oracle, user
            else:
                assert view.change_budget <= by_oracle[0] and view.change_budget + view.publish_budget <= view.room
            assert view.room <= (view.oracle.room(pair.slot) or 0)
        pair.close(offer, tape.one_of(ENDINGS))
    assert all(oracle.violations() == [] for oracle in pair.oracles.values())
    assert all(oracle.worst() <= 1 for oracle in pair.oracles.values())


def expected(oracle: Any, schedule: Paced, slot: int, due: bool) -> tuple[int, int]:
    """Change and publish budget by the oracle."""
    if isinstance(schedule, PacedWithChangeDetection):
        return oracle.offer_watched(slot, schedule.interval)
    return 0, oracle.offer_paced(slot, schedule.interval) if due else 0


KINDS = [(Paced, fast) for fast in FAST] + [(PacedWithChangeDetection, False)]
kinds = pytest.mark.parametrize(("kind", "fast"), KINDS)


@kinds
@given(data=tapes)
@settings(max_examples=60, deadline=None)
def test_alone_in_a_row_the_oracle_offers_the_same(kind: type[Paced], fast: bool, data: bytes) -> None:
    """The least equal part of everything that binds, cut to the room, through joins, leaves, changes and restarts."""
    play(Pair(kind(), history_slots=64, fast=fast), Tape(data), alone=True)


@kinds
@pytest.mark.parametrize("history_slots", [1, 7])
@given(data=tapes)
@settings(max_examples=20, deadline=None)
def test_in_shared_rows_every_promise_is_kept(kind: type[Paced], fast: bool, history_slots: int, data: bytes) -> None:
    """The same where people share rows and where windows reach into slots that were forgotten."""
    play(Pair(kind(), history_slots=history_slots, fast=fast), Tape(data), alone=False)


@pytest.mark.parametrize("irregular", [False, True], ids=["offers", "irregular charges"])
def test_individual_rows_give_the_same_numbers(irregular: bool) -> None:
    """Rooms and offers of numba and numpy are equal while intervals, people, requirements and even schedules change."""
    pytest.importorskip("numba")
    for seed in range(8):
        twins, paced = Twins(seed), Paced()
        for _ in range(70):
            twins.live()
            if twins.rng.random() < 0.2:
                paced.interval = int(twins.rng.integers(1, 14))
            schedule: Schedule = paced
            if irregular and twins.rng.random() < 0.1:
                schedule = DynamicAbsorption() if twins.rng.random() < 0.5 else DynamicDistribution()
            offers = twins.compare(schedule)
            if irregular and twins.rng.random() < 0.1:
                offers = twins.irregular_charge(offers)
            twins.close(offers, published=bool(twins.rng.random() < 0.8))


def test_individual_rows_detect_no_change() -> None:
    """`PacedWithChangeDetection` refuses individual rows and names the option without them."""
    pytest.importorskip("numba")
    members = Membership(Register.from_rows({"user-0": dynamic((ONE, 4))}), Ledger(fast=True), dynamic=True)
    with pytest.raises(WrongRequirementKind, match="fast=False"):
        members.ledger.offer(PacedWithChangeDetection())


# Plans


@fast
@given(data=tapes, wait=st.integers(0, 12), interval=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_a_forecast_comes_true(fast: bool, data: bytes, wait: int, interval: int) -> None:
    """Room and shares forecast for a later slot are those of that slot, if nothing is spent and nothing changes.

    Plans take fixed versions that live today to live then: with one, never more than what is found.
    """
    tape, pair = Tape(data), Pair(Paced(), people={"user-0": dynamic((ONE, 3), (ONE, 5))}, history_slots=64, fast=fast)
    table = [read_requirement(tape, flips=True) for _ in range(4)]
    while tape:
        live(pair, tape, table, alone=True)
        pair.close(pair.offer(), tape.one_of(ENDINGS))
    pair.members.begin_slot()
    view = pair.ledger.view().forecast_view
    room, part = view.forecast_room(wait), view.forecast_paced(interval, wait)
    moving = view.fixed_epsilon == UNBOUNDED
    nothing = np.zeros(pair.ledger.rows, np.int64)
    for _ in range(wait):
        pair.ledger.charge(Offer(pair.slot, nothing, nothing, nullified=False))
        pair.ledger.settle(published=False)
    found = pair.ledger.view().forecast_view
    used = found.sizes > 0
    assert used.tolist() == (view.sizes > 0).tolist()
    assert (room[used] <= found.room[used]).all() and (part[used] <= found.paced(interval)[used]).all()
    moving &= used
    assert room[moving].tolist() == found.room[moving].tolist()
    assert part[moving].tolist() == found.paced(interval)[moving].tolist()


@fast
def test_the_plan_knows_the_longest_window(fast: bool) -> None:
    """A window that grows, on either side, widens what is tried from the next plan on; one that shrinks narrows it."""
    people: dict[Hashable, Requirement] = {"user-0": dynamic((ONE, 4)), "user-1": fixed(ONE, 6)}
    register = Register.from_rows(people)
    members = Membership(register, Ledger(fast=fast), dynamic=True)
    tried: list[int] = []

    def note(intervals: Any, budgets: Any, change_budget: Any = None) -> Any:
        assert budgets.shape == (intervals.size, 2) and (budgets > 0).any()
        tried.append(int(intervals[-1]))
        return intervals - 1.0

    schedule, ledger = Paced(), members.ledger
    for requirement in (None, dynamic((ONE, 30)), dynamic((ONE, 9), (ONE, 17)), dynamic((ONE, 2))):
        if requirement is not None:
            members.change("user-0", requirement)
        schedule.interval = 1
        schedule.plan(ledger.view(), note)
        ledger.charge(ledger.offer(schedule))
        ledger.settle(published=True)
    assert tried == [6, 30, 17, 6]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=400), st.integers(1, 60))
def test_a_sample_stands_for_all(levels: list[int], most: int) -> None:
    """At least one of each level, each level by as many as there are, hardly more places than required."""
    picked, stands_for = sample_levels(np.array(levels), most)
    assert (np.diff(picked) > 0).all() and (stands_for >= 1).all()
    assert picked.size <= max(most + len(set(levels)), 1)
    for level in set(levels):
        of_level = np.array(levels)[picked] == level
        assert stands_for[of_level].sum() == levels.count(level)


@fast
def test_a_sample_forecasts_many_people(fast: bool) -> None:
    """With more people than the sample, sizes add up, and the forecast offer is within a twentieth of the real one."""
    rng = np.random.default_rng(1)
    table = [Dynamic((epsilon, window), (1, 12)) for epsilon in (0.2, 0.5, 1) for window in (3, 12)]
    people = 4 * MOST
    register = Register.from_levels(table, rng.integers(0, 6, people)).with_group("group-0", fixed(ONE, 5), 70)
    members, schedule = Membership(register, Ledger(fast=fast), dynamic=True), Paced(2)
    for _ in range(20):
        members.declare(table, rng.integers(-1, 6, people))
        members.begin_slot()
        members.ledger.charge(members.ledger.offer(schedule))
        members.ledger.settle(published=True)
    view = members.ledger.view().forecast_view
    assert view.sizes.sum() == people + 70
    assert view.rows <= MOST + len(table) + 1
    for interval in (1, 4, 12):
        forecast = np.minimum(view.forecast_paced(interval, 0), view.forecast_room(0)) @ view.sizes
        offered = members.ledger.offer(Due(interval)).publish_budget @ members.ledger.all_sizes
        assert abs(forecast - offered) < 0.05 * offered


class Due(Paced):
    """Publishes now, whatever the interval says."""

    def due(self, view: Any) -> bool:
        return True


@fast
def test_constant_requirements_are_as_good_as_fixed_ones(fast: bool) -> None:
    """At any interval (E, w) on both sides, on one side, or fixed get the same part in every slot."""
    for interval in (1, 3, 8, 20):
        people: dict[Hashable, Requirement] = {
            "user-0": fixed(ONE, 12),
            "user-1": dynamic((ONE, 12)),
            "user-2": dynamic((ONE, 12), (ONE, 12)),
            "user-3": dynamic((2 * ONE, 12), (ONE, 12)),
        }
        members = Membership(Register.from_rows(people), Ledger(fast=fast), dynamic=True)
        schedule = Paced(interval)
        for slot in range(1, 60):
            offer = members.ledger.offer(schedule)
            part = ONE // -(-12 // interval) if (slot - 1) % interval == 0 else 0
            assert offer.publish_budget[members.rows()].tolist() == [part] * 4
            members.ledger.charge(offer)
            members.ledger.settle(published=bool(part))
