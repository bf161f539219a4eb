"""Individual rows (numba) give the same numbers as the path in numpy, whatever people do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support import quick_and_slow

from wevent import Dynamic, Fixed, Privacy, Register
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.budgets.schedules import DynamicAbsorption, DynamicDistribution, Schedule
from wevent.errors import BudgetExceeded, Infeasible
from wevent.settings import Rest, WhenInfeasible
from wevent.units import UNBOUNDED

pytest.importorskip("numba")
if TYPE_CHECKING:
    from wevent.budgets.individual.rows import IndividualRows

WINDOWS = (1, 2, 3, 5, 8, 13)


def assert_in_step(individual: IndividualRows) -> None:
    """After an offer every certificate says what a scan of the past finds, or bounds it."""
    past, certificates, rows = individual.past, individual._certificates, np.flatnonzero(individual.sizes)
    levels, declared, publish_budgets = certificates.levels, past.declared_levels(rows), past.publish_budgets(rows)
    age = np.arange(past.span - 1, 0, -1)[:, None]
    active = age < levels.forward_window[declared]
    spent = publish_budgets[::-1].cumsum(axis=0)[::-1]
    for found, values in (("left", levels.half[declared] - spent), ("share", levels.share[declared])):
        least = np.where(active, values, UNBOUNDED).min(axis=0, initial=UNBOUNDED)
        np.testing.assert_array_equal(getattr(certificates.arrays, found)[rows], least, found)
    if certificates.sums.size:
        sums = np.stack([past.change_budgets(rows).sum(axis=0), publish_budgets.sum(axis=0)], axis=1)
        np.testing.assert_array_equal(certificates.sums[rows], sums)
    if certificates.saved:
        amount, level, until = (array[rows] for array in certificates.saved)
        share = past.levels().share
        most = np.where(active, (age + 1) * share[declared] - spent, -UNBOUNDED).max(axis=0, initial=-UNBOUNDED)
        assert ((amount + past.slot * share[level] <= most) | (until < past.slot)).all()


@dataclass
class Twins:
    """The same people in a ledger without and in one with individual rows."""

    seed: int
    rest: Rest = "all"
    infeasible: WhenInfeasible = "project"
    people: int = 13
    levels: int = 20
    departed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.table = [self.requirement() for _ in range(self.levels)]
        register = Register.from_levels(self.table, self.rng.integers(0, self.levels, self.people))
        privacy = Privacy(rest=self.rest, infeasible=self.infeasible)
        self.sides = [
            Membership(register, Ledger(privacy, history_slots=5, fast=fast), dynamic=True) for fast in (False, True)
        ]

    def requirement(self) -> Dynamic:
        """Any dynamic requirement, with budgets that floors change."""
        forward = int(self.rng.choice((200, 500, 1000, 3000))) * 10**6 + int(self.rng.integers(0, 5))
        backward = int(self.rng.choice((300, 600, 1500, 100_000))) * 10**6
        windows = self.rng.choice(WINDOWS, 2)
        return Dynamic((f"{forward}e-9", int(windows[0])), (f"{backward}e-9", int(windows[1])))

    def live(self) -> None:
        """A person may join, leave, return or change; often all people declare anew."""
        if self.rng.random() < 0.2:
            user, what = int(self.rng.integers(0, self.people)), self.rng.random()
            requirement = self.requirement() if self.rng.random() < 0.6 else Fixed(0.7, 4)
            outcomes = set()
            for side in self.sides:
                try:
                    if user in self.departed:
                        side.join(user, requirement)
                    elif what < 0.3:
                        side.leave(user)
                    else:
                        side.change(user, requirement)
                    outcomes.add("done")
                except Infeasible as error:
                    outcomes.add(str(error))
            assert len(outcomes) == 1
            if outcomes == {"done"}:
                if user in self.departed:
                    self.departed.discard(user)
                elif what < 0.3:
                    self.departed.add(user)
        if self.rng.random() < 0.5 and self.infeasible == "project":
            register = self.sides[0].register
            choice = self.rng.integers(-1, self.levels, len(register))
            choice[register.rows < 0] = -1
            for side in self.sides:
                side.declare(self.table, choice)

    def compare(self, schedule: Schedule) -> list[Offer]:
        """Room, borders and offers of the next slot are the same for every person."""
        compared, offers = [], []
        for side in self.sides:
            side.begin_slot()
            rows, ledger = side.rows(), side.ledger
            registered = rows >= 0
            room, borders = ledger.room()[rows], ledger.borders()[rows]
            offer = ledger.offer(schedule)
            offers.append(offer)
            columns = (room, offer.change_budget[rows], offer.publish_budget[rows], borders)
            compared.append([np.where(registered, column, 0) for column in columns])
        assert offers[0].nullified == offers[1].nullified
        for numpy_column, numba_column in zip(*compared, strict=True):
            np.testing.assert_array_equal(numpy_column, numba_column)
        if self.sides[1].ledger.individual is not None:
            assert_in_step(self.sides[1].ledger.individual)
        return offers

    def irregular_charge(self, offers: list[Offer]) -> list[Offer]:
        """Any charge within the room, the same on both sides."""
        parts = self.rng.random((2, 10 * self.people))
        result = []
        for side, offer in zip(self.sides, offers, strict=True):
            room = side.ledger.room()
            change_budget, publish_budget = np.zeros_like(room), np.zeros_like(room)
            for place, row in enumerate(side.rows()):
                if row >= 0:
                    change_budget[row] = int(room[row] * parts[0, place])
                    publish_budget[row] = int((room[row] - change_budget[row]) * parts[1, place])
            result.append(Offer(offer.slot, change_budget, publish_budget, nullified=False))
        return result

    def close(self, offers: list[Offer], *, published: bool) -> None:
        """Charge and settle the slot; now and then the individual rows go through bytes."""
        for side, offer in zip(self.sides, offers, strict=True):
            side.ledger.charge(offer)
            side.ledger.settle(published)
        if self.rng.random() < 0.05:
            fast = self.sides[1]
            fast.placement.ledger = Ledger.from_bytes(fast.ledger.to_bytes(), fast.ledger.privacy)
            fast.ledger.fast = True


@pytest.mark.parametrize("seeds", quick_and_slow([range(1)], [range(1, 6)]), ids=["one seed", "more seeds"])
@pytest.mark.parametrize("rest", ["all", "own"])
@pytest.mark.parametrize("schedule", [DynamicDistribution(), DynamicAbsorption()], ids=lambda s: s.name)
@pytest.mark.parametrize("irregular", [False, True], ids=["offers", "irregular charges"])
@pytest.mark.parametrize("infeasible", ["project", "reject"])
def test_same_numbers(
    schedule: Schedule, rest: Rest, irregular: bool, infeasible: WhenInfeasible, seeds: range
) -> None:
    """Rooms, borders, offers and refusals are equal over joins, leaves, returns, changes of kind and restarts."""
    for seed in seeds:
        twins = Twins(seed, rest, infeasible)
        for _ in range(80):
            twins.live()
            offers = twins.compare(schedule)
            if irregular and twins.rng.random() < 0.3:
                offers = twins.irregular_charge(offers)
            twins.close(offers, published=bool(twins.rng.random() < 0.3))


def test_more_levels_than_fit_into_a_byte() -> None:
    """Codes grow with the number of different requirements, in the middle of a stream, and no number changes."""
    twins = Twins(3)
    for slot in range(60):
        offers = twins.compare(DynamicDistribution())
        twins.close(offers, published=slot % 3 == 0)
        more = [Dynamic((f"{10**9 + 7 * slot + k}e-9", 5 + k), (f"{5 * 10**8 + slot}e-9", 3)) for k in range(6)]
        choice = twins.rng.integers(-1, 6, twins.people)
        for side in twins.sides:
            side.declare(more, choice)
    individual = twins.sides[1].ledger.individual
    assert individual is not None and len(individual.past.table) > 255


@pytest.mark.parametrize("schedule", [DynamicDistribution(), DynamicAbsorption()], ids=lambda s: s.name)
@pytest.mark.parametrize("longer", [(4,), (2, 4), (6, 11)])
@pytest.mark.parametrize("seeds", quick_and_slow([range(2)], [range(2, 10)]), ids=["two seeds", "more seeds"])
def test_longer_windows_in_the_middle_of_a_stream(schedule: Schedule, longer: tuple[int, ...], seeds: range) -> None:
    """When longer windows are required before one slot, rooms and offers stay those of numpy."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        first = [Dynamic(("1", 1), ("0.8", int(window))) for window in rng.integers(1, 4, 5)]
        register = Register.from_rows(enumerate(first))
        sides = [Membership(register, Ledger(fast=fast), dynamic=True) for fast in (False, True)]
        for slot in range(1, 50):
            if slot in (9, 21):
                for window in longer:
                    for side in sides:
                        side.join(f"{slot}-{window}", Fixed(1, window + slot // 20))
                wide = int(rng.integers(1, sides[0].ledger.span + 1))
                for side in sides:
                    side.change(slot % 5, Dynamic(("1", 1), ("0.9", wide)))
                    side.change(slot % 4, Dynamic(("1", 2), ("1.7", sides[0].ledger.span)))
            rooms = [side.ledger.room()[side.rows()] for side in sides]
            offers = [side.ledger.offer(schedule) for side in sides]
            parts = [
                offer.change_budget[side.rows()] + offer.publish_budget[side.rows()]
                for side, offer in zip(sides, offers, strict=True)
            ]
            np.testing.assert_array_equal(rooms[0], rooms[1])
            np.testing.assert_array_equal(parts[0], parts[1])
            published = bool(rng.random() < 0.3)
            for side, offer in zip(sides, offers, strict=True):
                side.ledger.charge(offer)
                side.ledger.settle(published)


def test_above_the_room_is_refused() -> None:
    """One unit above a row's room refuses the whole charge, and nothing changes."""
    twins = Twins(5)
    ledger = twins.sides[1].ledger
    for slot in range(20):
        room = ledger.room()
        before = ledger.to_bytes()
        publish_budget = room.copy()
        publish_budget[slot % publish_budget.size] += 1
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            ledger.charge(Offer(ledger.slot, np.zeros_like(room), publish_budget, nullified=False))
        assert ledger.to_bytes() == before
        ledger.charge(ledger.offer(DynamicDistribution()))
        ledger.settle(published=slot % 2 == 0)


def test_unsettled_is_lost() -> None:
    """A charge that was not settled before the bytes were written is spent afterwards."""
    for fast in (0, 1):
        ledger = Twins(7).sides[fast].ledger
        offer = ledger.offer(DynamicDistribution())
        ledger.charge(offer)
        again = Ledger.from_bytes(ledger.to_bytes())
        again.fast = bool(fast)
        ledger.settle(published=True)
        assert again.slot == ledger.slot
        np.testing.assert_array_equal(again.room(), ledger.room())
