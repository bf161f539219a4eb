"""What each schedule proposes, and how the dynamic ones relate to the fixed ones (SPEC §5, §6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import FAST, Pair, dynamic, fixed

from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.schedules import (
    Absorption,
    Distribution,
    DynamicAbsorption,
    DynamicDistribution,
    Sample,
    Schedule,
    Uniform,
)
from wevent.settings import Privacy

fast = pytest.mark.parametrize("fast", FAST)
windows = st.integers(1, 9)
decisions = st.lists(st.booleans(), min_size=1, max_size=40)


class Twins:
    """One fixed requirement, and the same as a constant forward one whose backward side never binds."""

    def __init__(self, epsilon: int, window: int, still: Schedule, moving: Schedule, fast: bool) -> None:
        privacy = Privacy(rest="own")
        required = fixed(epsilon, window)
        self.fixed = Pair(still, {"user-0": required}, privacy=privacy)
        self.moving = Pair(moving, {"user-0": dynamic((epsilon, window))}, privacy=privacy, fast=fast)

    def offers(self) -> tuple[Offer, Offer]:
        return self.fixed.offer(), self.moving.offer()

    def spend(self, change_budget: int, publish_budget: int) -> None:
        """The same spends for both, from whichever schedule."""
        for pair in (self.fixed, self.moving):
            spends = np.array([change_budget]), np.array([publish_budget])
            pair.ledger.charge(Offer(pair.slot, *spends, nullified=False))
            pair.ledger.settle(published=True)


@fast
@given(epsilon=st.integers(18, 5000), window=windows, published=decisions)
@settings(deadline=None)
def test_dpbd_is_pbd(fast: bool, epsilon: int, window: int, published: list[bool]) -> None:
    """SPEC §6: under constant requirements DPBD equals PBD to the last unit, room included."""
    twins = Twins(epsilon, window, Distribution(), DynamicDistribution(), fast)
    for publish in published:
        first, second = twins.offers()
        assert first.change_budget.tolist() == second.change_budget.tolist()
        assert first.publish_budget.tolist() == second.publish_budget.tolist()
        assert twins.fixed.ledger.room().tolist() == twins.moving.ledger.room().tolist()
        twins.spend(int(first.change_budget[0]), int(first.publish_budget[0]) if publish else 0)


@fast
@pytest.mark.parametrize("leader", ["PBA", "DPBA"])
@given(epsilon=st.integers(18, 5000), window=windows, published=decisions)
@settings(deadline=None)
def test_dpba_rests_like_pba_and_offers_no_less(
    leader: str, fast: bool, epsilon: int, window: int, published: list[bool]
) -> None:
    """SPEC §6: on the same history DPBA rests in the same slots and offers at least as much.

    On a history of DPBA's own this needs a budget of whole shares: PBA rounds a broken rest up.
    """
    if leader == "DPBA":
        epsilon = max(1, epsilon // (2 * window)) * 2 * window
    twins = Twins(epsilon, window, Absorption(), DynamicAbsorption(), fast)
    for publish in published:
        (pba, dpba) = twins.offers()
        slot, last = twins.fixed.slot, twins.fixed.ledger.last_slot
        users = twins.fixed.oracles["user-0"], twins.moving.oracles["user-0"]
        rests = users[0].rests(slot, last)
        assert users[1].rests(slot, last) == rests
        if rests:
            assert pba.publish_budget[0] == dpba.publish_budget[0] == 0
        else:
            assert dpba.publish_budget[0] >= pba.publish_budget[0]
        chosen = pba if leader == "PBA" else dpba
        spent = int(chosen.change_budget[0]), int(chosen.publish_budget[0]) if publish else 0
        twins.spend(*spent)
        for user in users:
            user.record(slot, *spent)


@fast
def test_dpba_may_take_up_shares_of_rested_slots(fast: bool) -> None:
    """SPEC §10.7: DPBA is not PBA: after a long wait, a large spend and its rest, it may offer more."""
    twins = Twins(8000, 4, Absorption(), DynamicAbsorption(), fast)
    more = 0
    for slot in range(1, 30):
        pba, dpba = twins.offers()
        more += int(dpba.publish_budget[0] > pba.publish_budget[0] > 0)
        twins.spend(int(pba.change_budget[0]), int(pba.publish_budget[0]) if slot in (2, 4, 9, 13, 20) else 0)
    assert more > 0


@given(epsilon=st.integers(2, 10**6), window=windows, slots=st.integers(1, 30))
@settings(deadline=None)
def test_uniform_spends_one_rate_per_slot(epsilon: int, window: int, slots: int) -> None:
    """E/w in every slot, floored, nothing for measuring, and never less because of room."""
    epsilon = max(epsilon, 2 * window)
    ledger = Ledger()
    ledger.open_row(fixed(epsilon, window), 3)
    for _ in range(slots):
        offer = ledger.offer(Uniform())
        assert (offer.change_budget[0], offer.publish_budget[0]) == (0, epsilon // window)
        ledger.charge(offer)
        ledger.settle(published=True)


@given(epsilon=st.integers(18, 10**6), window=windows, slots=st.integers(1, 30))
@settings(deadline=None)
def test_sample_spends_all_once_per_window(epsilon: int, window: int, slots: int) -> None:
    """E in slots 1, 1 + w, 1 + 2w, …, nothing between."""
    ledger = Ledger()
    ledger.open_row(fixed(epsilon, window), 3)
    for slot in range(1, slots + 1):
        offer = ledger.offer(Sample())
        assert (offer.change_budget[0], offer.publish_budget[0]) == (0, epsilon if (slot - 1) % window == 0 else 0)
        ledger.charge(offer)
        ledger.settle(published=True)


def test_sample_waits_for_the_longest_window() -> None:
    """With several windows everybody spends by the longest one."""
    ledger = Ledger()
    rows = [ledger.open_row(fixed(100, window), 1) for window in (2, 3)]
    due = []
    for _ in range(7):
        offer = ledger.offer(Sample())
        due.append(offer.publish_budget[rows].tolist())
        ledger.charge(offer)
        ledger.settle(published=True)
    assert due == [[100, 100], [0, 0], [0, 0]] * 2 + [[100, 100]]


@pytest.mark.parametrize("schedule", [Distribution(), Absorption(), Uniform(), Sample()])
def test_fixed_schedules_serve_no_individual_rows(schedule: Schedule) -> None:
    """Only the dynamic schedules say how dynamic rows are served."""
    assert schedule.dynamic is None
    assert DynamicDistribution.dynamic == "distribution"
    assert DynamicAbsorption.dynamic == "absorption"


@given(
    required=st.lists(st.tuples(st.integers(20, 10**6), st.integers(1, 9)), min_size=1, max_size=6),
    published=decisions,
)
@settings(deadline=None)
def test_rows_do_not_see_each_other(required: list[tuple[int, int]], published: list[bool]) -> None:
    """Distribution offers each row what it would offer it alone."""
    together = Ledger()
    alone = [Ledger() for _ in required]
    rows = [together.open_row(fixed(*terms), 2) for terms in required]
    for ledger, terms in zip(alone, required, strict=True):
        ledger.open_row(fixed(*terms), 2)
    for publish in published:
        offer = together.offer(Distribution())
        single = [ledger.offer(Distribution()) for ledger in alone]
        assert offer.change_budget[rows].tolist() == [int(own.change_budget[0]) for own in single]
        assert offer.publish_budget[rows].tolist() == [int(own.publish_budget[0]) for own in single]
        for ledger, offered in zip([together, *alone], [offer, *single], strict=True):
            ledger.charge(offered)
            ledger.settle(publish)
