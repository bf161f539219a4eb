"""The contract on combinations of the axes that no recipe names: every one is checked by the ledger."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from tests.contract.test_contract import CELLS, BrokenError, Case, Flaky, World
from tests.support import Deaf, quick_and_slow

from wevent import Decision, Mechanism, Privacy, Publisher
from wevent.budgets.feasibility import violations, worst
from wevent.budgets.paced import Paced, PacedWithChangeDetection
from wevent.budgets.schedules import Absorption, Distribution, DynamicAbsorption, DynamicDistribution, Uniform
from wevent.decisions.change import ChangeTrigger
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.decisions.contrasted import PooledWithContrast
from wevent.decisions.estimators import Sampled, Unbiased
from wevent.decisions.pooled import Pooled
from wevent.decisions.scheduled import ScheduledTrigger
from wevent.decisions.selection import expected
from wevent.releases.filters import Unfiltered
from wevent.releases.journal import Outcome
from wevent.releases.release import Release
from wevent.releases.state_space import StateSpace

made = partial(Mechanism, "combined")
watched = partial(made, PacedWithChangeDetection, ChangeDetectionTrigger)
COMBINATIONS: dict[str, tuple[Literal["fixed", "dynamic", "mixed"], Mechanism]] = {
    "paced pooled": ("fixed", made(Paced, ScheduledTrigger, Pooled, StateSpace)),
    "paced contrasted": ("fixed", made(Paced, ScheduledTrigger, PooledWithContrast, StateSpace)),
    "paced sampled, unfiltered": (
        "fixed",
        made(lambda: Paced(2), ScheduledTrigger, lambda: Sampled(expected), Unfiltered),
    ),
    "watched unbiased": ("fixed", watched(Unbiased, StateSpace)),
    "watched contrasted": (
        "fixed",
        watched(PooledWithContrast, StateSpace),
    ),
    "distribution pooled": ("fixed", made(Distribution, ChangeTrigger, Pooled, StateSpace)),
    "absorption contrasted": ("fixed", made(Absorption, ChangeTrigger, PooledWithContrast, Unfiltered)),
    "uniform pooled": ("fixed", made(Uniform, ScheduledTrigger, Pooled, Unfiltered)),
    "paced unbiased, mixed": ("mixed", made(Paced, ScheduledTrigger, Unbiased, StateSpace)),
    "paced pooled, dynamic": ("dynamic", made(Paced, ScheduledTrigger, Pooled, StateSpace)),
    "paced contrasted, mixed": ("mixed", made(Paced, ScheduledTrigger, PooledWithContrast, StateSpace)),
    "watched contrasted, mixed": (
        "mixed",
        watched(PooledWithContrast, StateSpace),
    ),
    "dynamic distribution pooled": ("mixed", made(DynamicDistribution, ChangeTrigger, Pooled, StateSpace)),
    "dynamic absorption unbiased": ("mixed", made(DynamicAbsorption, ChangeTrigger, Unbiased, StateSpace)),
}
every = pytest.mark.parametrize("name", COMBINATIONS)


def world(name: str, seed: int, noise: Any, privacy: Privacy | None = None) -> World:
    kind, mechanism = COMBINATIONS[name]

    def build(register: Any, cells: Any, **settings: Any) -> Publisher:
        return Publisher(register, cells, mechanism, **settings)

    return World(Case("pbd", kind), seed, False, noise=noise, privacy=privacy, build=build)


@every
@pytest.mark.parametrize("slots", quick_and_slow([80], [240]))
def test_the_promise(name: str, slots: int) -> None:
    """SPEC §2: through many slots of coming, going, changing and failing, everybody's windows hold."""
    noise = Flaky(1)
    running = world(name, 1, noise)
    decisions = []
    for _ in range(slots):
        running.live()
        noise.armed = running.random.random() < 0.1
        decisions.append(running.step(running.data()).decision)
    assert all(violations(record.spends, record.promises()) == [] for record in running.records.values())
    assert max(worst(record.spends, record.promises()) for record in running.records.values()) > Fraction(1, 4)
    assert {Decision.PUBLISHED, Decision.LOST} <= set(decisions)


@every
@pytest.mark.parametrize("neighbours", quick_and_slow(["add_remove"], ["substitution"]))
def test_one_users_rows_change_no_charge(name: str, neighbours: Literal["add_remove", "substitution"]) -> None:
    """With the same releases, one user's rows change no charge, no decision, nothing shown and no byte kept."""
    full, without = (world(name, 3, Deaf(5), Privacy(neighbours=neighbours)) for _ in range(2))
    for _ in range(40):
        full.live()
        without.live()
        releases = full.step(full.data()), without.step(without.data(without="user-0"))
        charges = full.journal.charges[-1], without.journal.charges[-1]
        assert np.array_equal(charges[0].change_budget, charges[1].change_budget)
        assert np.array_equal(charges[0].publish_budget, charges[1].publish_budget)
        assert releases[0].decision == releases[1].decision
        assert releases[0].threshold == releases[1].threshold
        assert np.array_equal(releases[0].counts, releases[1].counts)
        assert np.array_equal(releases[0].standard_error, releases[1].standard_error)
        assert full.publisher.ledger.to_bytes() == without.publisher.ledger.to_bytes()


@every
def test_a_lost_slot_teaches_nothing(name: str) -> None:
    """If the journal fails after the draw, the filter knows what it knew before."""
    running = world(name, 4, Flaky(2))
    for _ in range(5):
        running.step(running.data())
    keep = running.journal.settle
    before = running.publisher.filter.repeat(running.slot).counts.copy()

    def fail(outcome: Outcome) -> Release:
        running.journal.settle = keep  # type: ignore[method-assign]
        raise BrokenError

    running.journal.settle = fail  # type: ignore[method-assign]
    release = running.step(running.data())
    assert release.decision is Decision.LOST
    assert np.array_equal(release.counts, before)
    assert release.counts.shape == (len(CELLS),)


@every
def test_what_must_be_true_is_said(name: str) -> None:
    """Every release of a pooled estimator names its assumption; the others have none."""
    running = world(name, 6, Flaky(3))
    releases = [running.step(running.data()) for _ in range(6)]
    pooled = isinstance(running.publisher.estimator, Pooled | PooledWithContrast)
    assert all((release.assumption is not None) == pooled for release in releases)
