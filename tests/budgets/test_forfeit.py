"""Slots that are given up after a restore: who has room again, and when."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import FAST

from wevent import RECIPES, Dynamic, Fixed, Publisher, Register, Slot, auto, dpba, dpbd
from wevent.budgets.ledger import Ledger
from wevent.budgets.membership import Membership
from wevent.budgets.schedules import DynamicAbsorption, DynamicDistribution, Schedule
from wevent.errors import InvalidRequirement
from wevent.noise import SeededNoise


def room_of(publisher: Publisher, user: str) -> int:
    publisher.members.begin_slot()
    rows, register = publisher.members.rows(), publisher.members.register
    return int(publisher.ledger.room()[rows[register.position(user)]])


@pytest.mark.parametrize("fast", FAST)
@pytest.mark.parametrize("recipe", [auto, dpbd, dpba])
def test_nobody_has_room_until_the_hold_is_over(recipe: object, fast: bool) -> None:
    """With hold 6 nobody spends before slot h + 6: cohorts, dynamic rows, newcomers, returns; bytes keep it."""
    people: dict[str, Fixed | Dynamic] = {
        "fixed": Fixed(1, 2),
        "moving": Dynamic((1, 2), (1, 2)),
        "ahead": Dynamic((1, 2)),
        "back": Fixed(1, 2),
        "gone": Dynamic((1, 2)),
    }

    def made() -> Publisher:
        return RECIPES[recipe.__name__](Register.from_rows(people), 2, noise=SeededNoise(1), fast=fast)  # type: ignore[attr-defined]

    publisher = made()
    publisher.leave("back")
    publisher.leave("gone")
    publisher.step(Slot(1))
    publisher.forfeit(hold=6)  # slot 2
    twin = made()
    twin.restore(publisher.to_bytes())
    for stream in (publisher, twin):
        stream.join("back", Dynamic((1, 1)))
        stream.join("gone", Fixed(1, 1))
        stream.join("new", Fixed(1, 1))
        stream.join("newer", Dynamic((1, 1), (1, 1)))
        for slot in range(3, 10):
            for user in (*people, "new", "newer"):
                assert (room_of(stream, user) > 0) == (slot >= 8), (user, slot)
            stream.step(Slot(slot))
            assert stream.trace is not None
            assert stream.trace.spent.any() == (slot >= 8)


@pytest.mark.parametrize("fast", FAST)
def test_forward_windows_wait_for_forgotten_slots(fast: bool) -> None:
    """Who joins, or changes, to a forward window w after slot h was given up has room from slot h + w on."""
    publisher = dpbd(Register.from_rows({"ann": Dynamic((1, 2))}), 2, noise=SeededNoise(1), fast=fast)
    publisher.step(Slot(1))
    publisher.forfeit()  # slot 2
    publisher.join("new", Dynamic((1, 5)))
    publisher.change("ann", Dynamic((1, 4)))
    for slot in range(3, 10):
        assert (room_of(publisher, "new") > 0) == (slot >= 2 + 5)
        assert (room_of(publisher, "ann") > 0) == (slot >= 2 + 4)
        publisher.step(Slot(slot))


@pytest.mark.skipif(len(FAST) < 2, reason="needs numba")
@pytest.mark.parametrize("schedule", [DynamicDistribution(), DynamicAbsorption()])
@pytest.mark.parametrize("seed", range(4))
def test_individual_rows_and_numpy_agree_after_forfeits(schedule: Schedule, seed: int) -> None:
    """Rooms and offers are the same with and without numba, whatever is given up and held back."""
    rng = np.random.default_rng(seed)

    def requirement() -> Dynamic:
        forward, backward, budget = rng.integers(1, 7), rng.integers(1, 7), rng.integers(1, 4)
        return Dynamic((int(budget), int(forward)), (int(budget), int(backward)))

    register = Register.from_rows({k: requirement() for k in range(7)})
    sides = [Membership(register, Ledger(fast=fast), dynamic=True) for fast in (False, True)]
    for _ in range(40):
        user, required = int(rng.integers(0, 10)), requirement()
        leaves, gives_up, hold, published = (
            rng.random() < 0.2,
            rng.random() < 0.1,
            rng.integers(1, 4),
            rng.random() < 0.5,
        )
        for side in sides:
            if user not in side.register:
                side.join(user, required)
            elif leaves:
                side.leave(user)
            else:
                side.change(user, required)
            side.begin_slot()
        rooms = [side.ledger.room()[side.rows()[side.rows() >= 0]] for side in sides]
        assert rooms[0].tolist() == rooms[1].tolist()
        offers = [side.ledger.offer(schedule) for side in sides]
        for side, offer in zip(sides, offers, strict=True):
            if gives_up:
                side.ledger.forfeit(int(hold))
            else:
                side.ledger.charge(offer)
                side.ledger.settle(published)
        parts = [
            (o.change_budget + o.publish_budget)[side.rows()[side.rows() >= 0]]
            for o, side in zip(offers, sides, strict=True)
        ]
        assert parts[0].tolist() == parts[1].tolist()


def test_hold_is_a_window() -> None:
    """A hold is a whole number of slots from 1 on, and a refused one changes nothing."""
    ledger = Ledger()
    ledger.open_row(Fixed(1, 2), 1)
    with pytest.raises(InvalidRequirement):
        ledger.forfeit(0)
    assert ledger.slot == 1
    assert int(ledger.room()[0]) == 10**9
