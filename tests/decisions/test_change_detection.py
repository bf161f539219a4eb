"""Change detection: due slots publish, jumps publish earlier, and the usual distance is learned."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from wevent import Decision, Fixed, Mechanism, Publisher, Register, Slot, auto
from wevent.budgets.paced import PacedWithChangeDetection
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.estimators import Unbiased
from wevent.noise import SeededNoise
from wevent.releases.filters import Unfiltered
from wevent.releases.state_space import StateSpace


def publisher(interval: int, filter_: object = Unfiltered, seed: int = 1) -> Publisher:
    register = Register().with_group("everybody", Fixed(10, 400), 10_000)
    schedule = partial(PacedWithChangeDetection, interval)
    mechanism = Mechanism("paced", schedule, ChangeDetectionTrigger, Unbiased, filter_)  # type: ignore[arg-type]
    return Publisher(register, 2, mechanism, noise=SeededNoise(seed), fast=False)


def test_a_jump_is_published_before_it_is_due() -> None:
    """Half of all people move in slot 107, six slots after a publication: one of the next two slots publishes."""
    paced = publisher(20)
    decisions = {}
    for slot in range(1, 121):
        counts = np.array([[8_000, 1_000]] if slot < 107 else [[3_000, 6_000]])
        decisions[slot] = paced.step(Slot(slot, counts=counts)).decision
    before = [slot for slot in range(1, 107) if decisions[slot] is Decision.PUBLISHED]
    assert sum(np.diff(before) < 20) <= 1
    assert Decision.PUBLISHED in (decisions[107], decisions[108])


def test_the_filter_expects_the_jump() -> None:
    """What is shown after an early publication is nearer to the new counts than to the old ones."""
    paced = publisher(20, StateSpace)
    shown = 8_000.0
    for slot in range(1, 125):
        counts = np.array([[8_000, 1_000]] if slot < 107 else [[3_000, 6_000]])
        release = paced.step(Slot(slot, counts=counts))
        shown = float(release.counts[0])
        if slot > 107 and release.decision is Decision.PUBLISHED:
            break
    assert shown < 5_500


@pytest.mark.parametrize(("jump", "detectable"), [(150, True), (40, False), (0, False)])
def test_change_detection_is_forecast_where_jumps_are_detectable(jump: int, detectable: bool) -> None:
    """Only after a jump, and only if a tenth of the budget detects a jump of that size."""
    register = Register().with_group("everybody", Fixed(1, 50), 200_000)
    publisher = auto(register, 100, noise=SeededNoise(1), fast=False)
    part, change_budget = np.full((1, 1), 10**9 // 50), np.array([10**9 // 500])
    assert publisher._forecast_errors(np.ones(1, np.int64), part, change_budget) is None
    for slot in range(1, 201):
        up = np.where(np.arange(100) % 2, jump, -jump) * (slot // 150 % 2)
        publisher.step(Slot(slot, counts=1_000 + up[None, :]))
    assert (publisher.filter.typical_jump > 0) == (jump > 0)
    assert (publisher._forecast_errors(np.ones(1, np.int64), part, change_budget) is not None) == detectable


def test_state() -> None:
    """A restored trigger decides as the first would have."""
    paced = publisher(9)
    for slot in range(1, 60):
        paced.step(Slot(slot, counts=np.array([[100 + slot, 50]])))
    trigger = paced.trigger
    assert isinstance(trigger, ChangeDetectionTrigger)
    twin = ChangeDetectionTrigger()
    twin.restore(trigger.state())
    assert twin.state()["measured"] == trigger.state()["measured"]
    assert twin.state()["usual"] == pytest.approx(trigger.state()["usual"])
