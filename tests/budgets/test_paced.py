"""Paced publishing: equal parts that the windows always leave, intervals by forecast, a tenth for detecting change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import ONE, fixed

from wevent.budgets.ledger import Ledger
from wevent.budgets.paced import AdaptivePacing, Paced, PacedWithChangeDetection, _intervals
from wevent.budgets.schedules import ForecastErrors
from wevent.units import Units

requirements = st.lists(st.tuples(st.integers(10**6, ONE), st.integers(1, 40)), min_size=1, max_size=4)


def ledger(required: list[tuple[int, int]]) -> Ledger:
    made = Ledger(history_slots=40)
    for epsilon, window in required:
        made.open_row(fixed(epsilon, window), 1)
    return made


def close(made: Ledger, schedule: Paced) -> Units:
    offer = made.offer(schedule)
    made.charge(offer)
    made.settle(published=bool(offer.publish_budget.any()))
    return offer.publish_budget


@given(requirements, st.integers(1, 50))
@settings(deadline=None, max_examples=40)
def test_every_publication_gets_its_part(required: list[tuple[int, int]], interval: int) -> None:
    """At a constant interval everybody always offers E / ceil(w/k) in full, and nothing between."""
    made, schedule = ledger(required), Paced(interval)
    parts = [epsilon // -(-window // interval) for epsilon, window in required]
    published = 0
    for _ in range(130):
        offered = close(made, schedule)
        assert offered.tolist() in (parts, [0] * len(parts))
        published += bool(offered.any())
    assert published == -(-130 // interval)


@given(requirements, st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 45))
@settings(deadline=None, max_examples=60)
def test_room_after_a_wait(required: list[tuple[int, int]], spends: list[bool], wait: int) -> None:
    """The forecast for a later slot is the room found in it if nothing is spent until then."""
    made = ledger(required)
    for spend in spends:
        offer = made.offer(Paced(1))
        made.charge(offer)
        made.settle(published=spend)
    forecast = made.view().forecast_room(wait)
    for _ in range(wait):
        made.charge(made.offer(Paced(1)))
        made.settle(published=False)
    assert forecast.tolist() == made.room().tolist()


def no_forecast(intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None) -> None:
    """No prediction."""


def nothing_finite(
    intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
) -> npt.NDArray[np.float64]:
    """Errors without end."""
    return np.full(intervals.size, np.inf)


def test_the_interval_of_least_error() -> None:
    """The interval of the least forecast error is taken, after a publication and only then, and not in every slot."""
    made, schedule = ledger([(ONE, 40)]), Paced()
    required: list[npt.NDArray[np.int64]] = []

    def seven(
        intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
    ) -> npt.NDArray[np.float64]:
        assert budgets.shape == (intervals.size, 1)
        required.append(intervals)
        return np.abs(intervals - 7.0)

    published = 0
    for _ in range(30):
        schedule.plan(made.view(), seven)
        published += bool(close(made, schedule).any())
    assert schedule.interval == 7
    assert published // 2 <= len(required) <= published + 1  # once before the first, then at most once in eight slots


def test_a_faster_pace_waits_for_the_windows() -> None:
    """After a slow publication that took everything, a fast one waits until nearly all can pay most of their part."""
    made, schedule = ledger([(ONE, 20)] * 10), Paced(20)
    assert close(made, schedule).tolist() == [ONE] * 10
    schedule.interval = 2
    waited = 0
    while not (offered := close(made, schedule)).any():
        waited += 1
    assert waited == 19 and offered.tolist() == [ONE // 10] * 10  # slot 21: the first one has left every window


def test_one_of_many_is_not_waited_for() -> None:
    """A person in a hundred whose long window is still full does not keep the others from being counted."""
    made, schedule = Ledger(history_slots=40), Paced(10)
    made.open_row(fixed(ONE, 10), 99)
    made.open_row(fixed(ONE, 40), 1)
    schedule.interval = 40
    assert close(made, schedule).tolist() == [ONE, ONE]
    schedule.interval = 10
    slots = [made.slot for _ in range(30) if close(made, schedule)[0]]
    assert slots[0] == 12  # the slot after the one that was offered in


@given(requirements, st.lists(st.sampled_from([1, 2, 5, 13, 40]), min_size=2, max_size=6))
@settings(deadline=None, max_examples=40)
def test_no_wait_is_longer_than_the_longest_window(required: list[tuple[int, int]], intervals: list[int]) -> None:
    """However the pace changes, something is offered at the latest when the longest window is over."""
    made, schedule, last = ledger(required), Paced(), 0
    for turn in range(120):
        schedule.interval = intervals[turn // 20 % len(intervals)]
        slot = made.slot
        if close(made, schedule).any():
            last = slot
        longest = max(window for _, window in required)
        assert last > 0 and slot - last < max(longest, schedule.interval)


def test_without_a_forecast_nothing_changes() -> None:
    """Without a prediction, and where none is finite, the interval stays."""
    made, schedule = ledger([(ONE, 40)]), Paced(5)
    schedule.plan(made.view(), no_forecast)
    close(made, schedule)
    schedule.plan(made.view(), nothing_finite)
    assert schedule.interval == 5


def test_no_rhythm_is_met_in_phase() -> None:
    """With an interval of 24 slots or more, a rhythm of 24 is met in at least half of its phases."""
    for interval in (24, 48, 120):
        made, schedule = ledger([(ONE, 200)]), Paced(interval)
        slots: list[int] = []
        while len(slots) < 60:
            schedule.plan(made.view(), no_forecast)
            if close(made, schedule).any():
                slots.append(made.slot - 1)
        assert len({slot % 24 for slot in slots}) >= (7 if interval == 24 else 12)
        assert min(np.diff(slots)) == interval and max(np.diff(slots)) <= 1.25 * interval


@given(st.integers(1, 2**20))
def test_intervals_that_are_tried(longest: int) -> None:
    """From 1 to the longest window, ascending, none more than half as much again as the last (or one more)."""
    tried = _intervals(longest).tolist()
    assert tried[0] == 1 and tried[-1] == longest
    assert all(a < b <= max(1.5 * a + 1, a + 1) for a, b in pairwise(tried))


def test_change_detection_costs_a_tenth() -> None:
    """The change budget is a tenth of E/w; the publish budget, at most nine tenths of its part, is always on offer."""
    made, schedule = ledger([(ONE, 20)]), PacedWithChangeDetection(10)
    for slot in range(1, 61):
        offer = made.offer(schedule)
        assert offer.change_budget.tolist() == [ONE // 200]
        assert offer.publish_budget[0] <= 9 * ONE // 20
        assert offer.due == ((slot - 1) % 10 == 0)
        if offer.due:
            assert offer.publish_budget.tolist() == [9 * ONE // 20]
        made.charge(offer)
        made.settle(published=offer.due)


def forecast(detecting: float) -> ForecastErrors:
    """Errors of 1 without change detection, and of `detecting` with it; longer intervals are worse."""

    def errors(
        intervals: npt.NDArray[np.int64], budgets: Units, change_budget: Units | None = None
    ) -> npt.NDArray[np.float64]:
        return np.abs(intervals - 5.0) + (1.0 if change_budget is None else detecting)

    return errors


@pytest.mark.parametrize(("detecting", "detects_change"), [(0.5, True), (1.0, False), (np.inf, False)])
def test_change_is_detected_where_it_pays(detecting: float, detects_change: bool) -> None:
    """A tenth of E/w measures change in every slot if that has less forecast error; otherwise nothing does."""
    made, schedule, due = ledger([(ONE, 20)]), AdaptivePacing(), []
    for _ in range(40):
        schedule.plan(made.view(), forecast(detecting))
        assert schedule.detects_change == detects_change and schedule.interval == 5
        offer = made.offer(schedule)
        assert offer.change_budget.tolist() == [ONE // 200 if detects_change else 0]
        due.append(offer.due)
        assert detects_change or (offer.publish_budget[0] > 0) == offer.due
        made.charge(offer)
        made.settle(published=offer.due)
    assert set(np.diff(np.flatnonzero(due))) <= {5, 6}  # stretched by up to a quarter


@pytest.mark.parametrize("kind", [Paced, PacedWithChangeDetection, AdaptivePacing])
def test_state(kind: type[Paced]) -> None:
    """A restored schedule goes on as the first would have."""
    made, schedule = ledger([(ONE, 40)]), kind(9)
    for _ in range(23):
        schedule.plan(made.view(), no_forecast)
        close(made, schedule)
    twin = kind()
    twin.restore(schedule.state())
    assert twin.state() == schedule.state()
    assert [x.tolist() for x in (schedule.propose(made.view()).publish_budget,)] == [
        twin.propose(made.view()).publish_budget.tolist()
    ]
