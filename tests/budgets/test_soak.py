"""A million slots: no drift of the window sums, no growth of memory, nothing piles up."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from collections import deque
from collections.abc import Collection
from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.support import ONE, fixed, own_rows

from wevent.budgets.invariant import check_invariant
from wevent.budgets.ledger import Ledger
from wevent.budgets.membership import Membership
from wevent.budgets.schedules import Absorption, Distribution, Schedule
from wevent.cohorts.register import Register
from wevent.units import Units

SLOTS = 1_000_000
CHECK = 50_000
WARM = 100_000
TRACED = 950_000
SPAN = 17
STAY = {"user-0": fixed(ONE + 7, 5), "user-1": fixed(2 * ONE + 1, SPAN), "user-2": fixed(3, 1)}
GUESTS = [fixed(ONE + 7, 5), fixed(ONE // 3, 9), fixed(97, 11)]


class Soak:
    """A ledger with three people who stay, and guests who come, change and go."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.ledger = Ledger()
        self.members = Membership(Register.from_rows(STAY), self.ledger, dynamic=False)
        self.random = random.Random(20)
        self.recent: deque[Units] = deque(maxlen=SPAN)
        self.guests: deque[str] = deque()
        self.came = len(STAY)

    def visit(self) -> None:
        """One guest joins, one changes, one leaves; at most a handful are registered at a time."""
        guest = f"user-{self.came}"
        self.came += 1
        self.members.join(guest, self.random.choice(GUESTS))
        self.guests.append(guest)
        self.members.change(self.random.choice(self.guests), self.random.choice(GUESTS))
        if len(self.guests) > 4:
            self.members.leave(self.guests.popleft())

    def run(self, slots: int) -> None:
        """Some slots with random decisions, one of a thousand lost, a visit now and then."""
        members, ledger, schedule, recent = self.members, self.ledger, self.schedule, self.recent
        draws = np.random.default_rng(ledger.slot).random(slots).tolist()
        for draw in draws:
            if draw > 0.998:
                self.visit()
            members.begin_slot()
            offer = ledger.offer(schedule)
            ledger.charge(offer)
            publish = draw < 0.3 and not offer.nullified
            if 0.5 < draw < 0.501:
                ledger.lose()
                publish = True
            else:
                ledger.settle(publish)
            recent.append(offer.change_budget + offer.publish_budget if publish else offer.change_budget)

    def check_sums(self) -> None:
        """What the people who stay have left is their budget less a plain sum of the last spends."""
        rows, room = self.members.rows(), self.ledger.room()
        for user, required in STAY.items():
            row = rows[self.members.register.position(user)]
            last = reversed([int(spends[row]) for spends in self.recent])
            assert room[row] == required.units - sum(islice(last, required.window - 1))

    def held(self) -> list[int]:
        """Sizes of everything that could pile up."""
        members = self.members
        piles: tuple[Collection[Any], ...] = (
            members._departed,
            members.placement._empty,
            own_rows(members),
            members.placement.cohorts,
        )
        return [self.ledger.nbytes, self.ledger.rows, len(members.register), *(len(pile) for pile in piles)]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [Absorption(), Distribution()], ids=["absorption", "distribution"])
def test_a_million_slots(schedule: Schedule) -> None:
    """Window sums stay exact to the unit; bytes, rows, positions and allocated blocks stay what they were."""
    soak = Soak(schedule)
    most: list[int] = []
    blocks = 0
    traced = 0
    for slot in range(CHECK, SLOTS + 1, CHECK):
        soak.run(CHECK)
        soak.check_sums()
        check_invariant(soak.members)
        gc.collect()
        if slot <= WARM:
            most = [2 * size + 64 for size in soak.held()]
            blocks = sys.getallocatedblocks()
        assert all(size <= limit for size, limit in zip(soak.held(), most, strict=True))
        assert sys.getallocatedblocks() < 1.02 * blocks + 2000
        if slot == TRACED:
            tracemalloc.start()
            soak.run(2000)
            gc.collect()
            traced = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    assert grown < 20_000
    assert soak.came > 1500
