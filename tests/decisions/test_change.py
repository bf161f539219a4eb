"""Measuring change and deciding by it, with noise that is silent, so that every number can be checked."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import ONE, Recorded, Silent, fixed

from wevent.budgets.ledger import Offer
from wevent.cohorts.histogram import Domain, SlotReader, Tally
from wevent.cohorts.register import Register
from wevent.decisions.change import ChangeTrigger, DecisionInput, error_threshold, measure_change, scale_threshold
from wevent.decisions.scheduled import ScheduledTrigger
from wevent.decisions.selection import choose_threshold
from wevent.events.slot import Slot

SIZES = np.array([3])


def three(cells: list[int], domain: int = 4) -> Tally:
    """Three people of one row."""
    register = Register.from_levels([fixed(ONE, 2)], np.zeros(3, np.int64))
    rows = np.zeros(3, np.int64)
    return SlotReader(Domain(domain), 1, fast=False).read(Slot(1, np.array(cells)), register, rows, {}, SIZES)


def offered(change_budget: int, publish_budget: int) -> Offer:
    return Offer(1, np.array([change_budget]), np.array([publish_budget]), nullified=False)


@given(
    cells=st.lists(st.integers(-1, 3), min_size=3, max_size=3),
    reference=st.lists(st.floats(-50, 50), min_size=4, max_size=4),
)
@settings(deadline=None)
def test_distance_is_per_cell_to_the_rounded_reference(cells: list[int], reference: list[float]) -> None:
    """SPEC §4: Σ|c - round(r)| / d; a fractional reference is rounded, so whatever meets noise is whole."""
    noise = Silent()
    change = measure_change(three(cells), np.array([ONE]), np.array(reference), SIZES, 1, noise)
    assert change is not None
    counts = [cells.count(cell) for cell in range(4)]
    exact = sum(abs(count - round(r)) for count, r in zip(counts, reference, strict=True))
    assert change.distance == exact / 4
    assert noise.draws == [("laplace", Fraction(1), 1)]


@pytest.mark.parametrize("sensitivity", [1, 2, 4])
def test_measured_at_the_threshold_of_the_change_budgets(sensitivity: int) -> None:
    """One number is drawn, at θ1 = OBS(change budgets) over the sensitivity."""
    noise = Silent()
    budgets, sizes = np.array([3 * ONE, 0, ONE]), np.array([2, 0, 1])
    register = Register.from_levels([fixed(ONE, 2)], np.zeros(3, np.int64))
    slot = Slot(1, np.array([0, 0, 1]))
    tally = SlotReader(Domain(2), 1, fast=False).read(slot, register, np.array([0, 0, 2]), {}, sizes)
    change = measure_change(tally, budgets, np.zeros(2), sizes, sensitivity, noise)
    assert change is not None
    assert change.selection == choose_threshold(budgets, sizes, sensitivity)
    assert noise.draws[-1] == ("laplace", Fraction(change.selection.threshold, ONE * sensitivity), 1)
    assert change.distance == 1.5


def test_without_a_change_budget_nothing_is_measured() -> None:
    """No change budget: no draw, no distance, and the trigger skips."""
    noise = Recorded()
    assert measure_change(three([0, 0, 0]), np.array([0]), np.zeros(4), SIZES, 1, noise) is None
    selection = choose_threshold(np.array([ONE]), SIZES, 1)
    verdict = ChangeTrigger().decide(
        DecisionInput(three([0, 0, 0]), offered(0, ONE), selection, np.zeros(4, np.int64), SIZES, 1, noise)
    )
    assert not verdict.publish and verdict.change is None
    assert noise.draws == []


def test_distance_may_be_negative() -> None:
    """Noise is not cut at 0: with nothing changed it is negative about as often as positive."""
    found = []
    for seed in range(60):
        change = measure_change(three([-1] * 3), np.array([ONE // 9]), np.zeros(4), SIZES, 1, Recorded(seed))
        assert change is not None
        found.append(change.distance)
    assert min(found) < 0 < max(found)


def decide(cells: list[int], reference: npt.NDArray[np.int64], publish_budget: int, trigger: ChangeTrigger) -> bool:
    selection = choose_threshold(np.array([publish_budget]), SIZES, 1)
    offer = offered(ONE, publish_budget)
    return trigger.decide(DecisionInput(three(cells), offer, selection, reference, SIZES, 1, Silent())).publish


def test_publish_only_above_the_publish_threshold() -> None:
    """Strictly above: with error √2/θ = 1 the distance 1 skips, 1.25 publishes."""
    theta = math.isqrt(2 * ONE * ONE) + 1  # the publish threshold is slightly below 1
    assert 1 - 1e-8 < error_threshold(choose_threshold(np.array([theta]), SIZES, 1), 1) < 1
    reference = np.array([3, 0, 0, 0])
    assert not decide([0, 0, 0], reference, theta, ChangeTrigger())
    assert not decide([0, 0, 1], reference, theta, ChangeTrigger())  # 2/4
    assert decide([1, 1, 1], reference, theta, ChangeTrigger())  # 6/4
    assert decide([-1, -1, -1], np.array([4, 0, 0, 0]), theta, ChangeTrigger())  # 4/4
    assert not decide([-1, -1, -1], np.array([4, 0, 0, 0]), theta - 2, ChangeTrigger())


def test_exactly_at_the_publish_threshold_is_not_above_it() -> None:
    """A distance of 6/4 is published above a threshold of 1.49, and not at one of 1.5."""
    reference = np.array([3, 0, 0, 0])
    assert decide([1, 1, 1], reference, ONE, ChangeTrigger(publish_threshold=lambda selection, sensitivity: 1.49))
    assert not decide([1, 1, 1], reference, ONE, ChangeTrigger(publish_threshold=lambda selection, sensitivity: 1.5))


def test_nothing_on_offer_never_publishes() -> None:
    """Without a publish budget the change is measured, since its budget is spent, and the slot is skipped."""
    noise = Silent()
    selection = choose_threshold(np.array([0]), SIZES, 1)
    verdict = ChangeTrigger(publish_threshold=lambda selection, sensitivity: -math.inf).decide(
        DecisionInput(three([0, 0, 0]), offered(ONE, 0), selection, np.zeros(4, np.int64), SIZES, 1, noise)
    )
    assert not verdict.publish
    assert verdict.change is not None


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_publish_thresholds(sensitivity: int) -> None:
    """The root of the expected squared error [Du25], or the noise scale [Kellaris14]; infinite without a budget."""
    selection = choose_threshold(np.array([ONE // 2, 0]), np.array([2, 3]), sensitivity)
    assert error_threshold(selection, sensitivity) == pytest.approx(math.sqrt(9 + 8 * sensitivity**2))
    assert scale_threshold(selection, sensitivity) == pytest.approx(2 * sensitivity)
    nothing = choose_threshold(np.array([0]), SIZES, sensitivity)
    assert math.isinf(error_threshold(nothing, sensitivity))
    assert math.isinf(scale_threshold(nothing, sensitivity))


@pytest.mark.parametrize("publish_budget", [0, ONE])
def test_the_clock_looks_at_no_data(publish_budget: int) -> None:
    """It publishes exactly if there is anything to publish with, and draws nothing."""
    noise = Recorded()
    selection = choose_threshold(np.array([publish_budget]), SIZES, 1)
    for cells in ([0, 0, 0], [-1, -1, -1]):
        verdict = ScheduledTrigger().decide(
            DecisionInput(three(cells), offered(0, publish_budget), selection, np.zeros(4, np.int64), SIZES, 1, noise)
        )
        assert verdict.publish == (publish_budget > 0)
        assert verdict.change is None
    assert noise.draws == []
