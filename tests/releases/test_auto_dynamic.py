"""`auto` under fixed and dynamic requirements: unchanged numbers if all are fixed, useful ones otherwise."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.support import FAST, Record

from wevent import Dynamic, Fixed, Mechanism, Publisher, Register, Release, Slot, auto
from wevent.budgets.feasibility import violations
from wevent.budgets.paced import AdaptivePacing
from wevent.budgets.schedules import Proposal, Serves
from wevent.budgets.view import LedgerView
from wevent.cohorts.requirement import Requirement
from wevent.decisions.change_detection import ChangeDetectionTrigger
from wevent.mechanisms import ESTIMATORS, EstimatorName
from wevent.noise import SeededNoise
from wevent.releases.release import Decision
from wevent.releases.state_space import StateSpace
from wevent.study.window_check import DynamicWindowCheck
from wevent.units import UNBOUNDED, Units

PEOPLE, CELLS = 400, 5
every_word = pytest.mark.parametrize("word", ESTIMATORS)
fast = pytest.mark.parametrize("fast", FAST)


class FixedOnly(AdaptivePacing):
    """Paced publishing for fixed requirements only."""

    dynamic: ClassVar[Serves] = None

    def propose(self, now: LedgerView) -> Proposal:
        due, nothing = self.due(now), np.zeros(now.rows, np.int64)
        return Proposal(nothing, now.fixed_paced(self.interval) if due else nothing, due=due)

    def _offer(self, now: LedgerView, interval: int, wait: int) -> Units:
        return np.where(now.fixed_epsilon < UNBOUNDED, now.fixed_paced(interval), 0)


def places(slots: int, seed: int = 1) -> list[Any]:
    """The cells of all people: a third of them moves slowly from cell to cell."""
    rng = np.random.default_rng(seed)
    home = rng.integers(0, CELLS, PEOPLE)
    return [np.where(rng.random(PEOPLE) < 0.3, (home + slot // 40) % CELLS, home) for slot in range(slots)]


@every_word
def test_where_all_are_fixed_nothing_changes(word: EstimatorName) -> None:
    """Through joins, leaves and changes, `auto` releases the same as a schedule for fixed requirements only."""
    rng = np.random.default_rng(2)
    people = {f"user-{k}": Fixed(float(rng.choice([0.2, 1, 3])), int(rng.choice([3, 8, 20]))) for k in range(40)}

    def fixed_only(register: Register, cells: int, **given: Any) -> Publisher:
        mechanism = Mechanism("fixed only", FixedOnly, ChangeDetectionTrigger, ESTIMATORS[word], StateSpace)
        return Publisher(register, cells, mechanism, **given)

    both = [
        build(Register.from_rows(people), 4, noise=SeededNoise(3))
        for build in (fixed_only, partial(auto, estimator=word))
    ]
    registered = set(people)
    for number in range(1, 61):
        user, required = f"user-{rng.integers(40)}", Fixed(float(rng.choice([0.4, 2])), int(rng.choice([2, 8, 30])))
        what = rng.random()
        for publisher in both:
            if user not in registered:
                publisher.join(user, required)
            elif what < 0.3:
                publisher.leave(user)
            elif what < 0.6:
                publisher.change(user, required)
        registered = registered - {user} if user in registered and what < 0.3 else registered | {user}
        slot = Slot(number, {name: int(rng.integers(4)) for name in sorted(registered)})
        a, b = (publisher.step(slot) for publisher in both)
        assert a.decision == b.decision and a.threshold == b.threshold
        assert np.array_equal(a.counts, b.counts) and np.array_equal(a.standard_error, b.standard_error)
    assert both[0].ledger.to_bytes() == both[1].ledger.to_bytes()


def run(publisher: Publisher, data: list[Any]) -> list[Release]:
    return [publisher.step(Slot(number, cells)) for number, cells in enumerate(data, 1)]


@fast
def test_constant_dynamic_requirements_release_the_same(fast: bool) -> None:
    """With the same noise, (E, w) declared in every slot gives the same releases as a fixed (E, w)."""
    epsilon, window = np.random.default_rng(4).choice([0.5, 1, 2], PEOPLE), np.tile([6, 12], PEOPLE // 2)
    pairs = [(float(e), int(w)) for e, w in zip(epsilon, window, strict=True)]
    data = places(80)
    required: list[dict[Hashable, Requirement]] = [
        {k: Fixed(*pair) for k, pair in enumerate(pairs)},
        {k: Dynamic(pair, pair) for k, pair in enumerate(pairs)},
        {k: Dynamic(pair) if k % 2 else Fixed(*pair) for k, pair in enumerate(pairs)},
    ]
    releases = [run(auto(Register.from_rows(each), CELLS, noise=SeededNoise(5), fast=fast), data) for each in required]
    for first, *others in zip(*releases, strict=True):
        for other in others:
            assert first.decision == other.decision and first.threshold == other.threshold
            assert np.array_equal(first.counts, other.counts)


def error(releases: list[Release], data: list[Any]) -> float:
    true = np.array([np.bincount(cells, minlength=CELLS) for cells in data])
    return float(np.mean((np.array([release.counts for release in releases]) - true) ** 2))


@fast
@pytest.mark.slow
@pytest.mark.parametrize("word", ["pooled", "uncorrected"])
def test_a_dynamic_stream_is_as_useful_as_a_fixed_one(word: EstimatorName, fast: bool) -> None:
    """Constant requirements on both sides: the error is at most half as much again as in the fixed run (3 seeds)."""
    epsilon, data = np.random.default_rng(6).choice([0.5, 1, 2], PEOPLE).tolist(), places(120)
    errors = []
    for kind in (lambda e: Fixed(e, 10), lambda e: Dynamic((e, 10), (e, 10))):
        register = Register.from_rows({k: kind(e) for k, e in enumerate(epsilon)})
        made = [auto(register, CELLS, estimator=word, noise=SeededNoise(seed), fast=fast) for seed in (1, 2, 3)]
        errors.append(float(np.mean([error(run(publisher, data), data) for publisher in made])))
    assert errors[1] <= 1.5 * errors[0]


@fast
@every_word
def test_moving_requirements_keep_every_window(word: EstimatorName, fast: bool) -> None:
    """Requirements change before every slot, with restarts: the worst window is at most 1.000."""
    rng = np.random.default_rng(7)
    table = [Dynamic((e, w), b) for e in (0.5, 1, 2) for w in (2, 5, 9) for b in ((1, 3), (2, 7), (100, 1))]
    choice = rng.integers(0, len(table), 60)
    publisher = auto(Register.from_levels(table, choice), CELLS, estimator=word, noise=SeededNoise(8), fast=fast)
    check, published = DynamicWindowCheck([table[k] for k in choice]), 0
    for number in range(1, 121):
        moved = np.where(rng.random(60) < 0.2, rng.integers(0, len(table), 60), -1)
        if number % 10:
            publisher.declare(table, moved)
            check.change([(int(k), table[moved[k]]) for k in np.flatnonzero(moved >= 0)])
        if number % 37 == 0:
            twin = auto(Register.from_levels(table, choice), CELLS, estimator=word, noise=SeededNoise(9), fast=fast)
            twin.restore(publisher.to_bytes())
            assert twin.schedule.state() == publisher.schedule.state()
            twin.journal, publisher = publisher.journal, twin
        release = publisher.step(Slot(number, rng.integers(-1, CELLS, 60)))
        published += release.raw is not None
        assert publisher.trace is not None
        check.add(publisher.trace.spent[publisher.members.rows()])
    assert check.worst() <= 1
    assert published >= 8


def test_one_register_of_both_kinds() -> None:
    """Fixed and dynamic side by side, changes between them and back: every window holds, and all people are counted."""
    rng = np.random.default_rng(10)
    kinds: list[Requirement] = [Fixed(1, 6), Dynamic((1, 6), (2, 3)), Fixed(2, 3), Dynamic((2, 2), (1, 4))]
    required = {f"user-{k}": kinds[k % 4] for k in range(30)}
    publisher = auto(Register.from_rows(required), CELLS, estimator="pooled", noise=SeededNoise(11))
    records = {user: Record() for user in required}
    for number in range(1, 101):
        for user in rng.choice(list(required), 2, replace=False).tolist():
            required[user] = kinds[rng.integers(4)]
            publisher.change(user, required[user])
        publisher.step(Slot(number, {user: int(rng.integers(CELLS)) for user in required}))
        assert publisher.trace is not None
        rows, register = publisher.members.rows(), publisher.members.register
        for user, record in records.items():
            record.note(required[user], int(publisher.trace.spent[rows[register.position(user)]]))
    assert all(violations(record.spends, record.promises()) == [] for record in records.values())


@fast
def test_the_first_dynamic_person_does_not_silence_auto(fast: bool) -> None:
    """Joining while change is measured ends the measuring, and publications continue."""
    people: dict[Hashable, Requirement] = {k: Fixed(2, 6) for k in range(50)}
    publisher = auto(Register.from_rows(people), CELLS, noise=SeededNoise(3), fast=fast)
    schedule = publisher.schedule
    assert isinstance(schedule, AdaptivePacing)
    for number in range(1, 10):
        publisher.step(Slot(number, {k: k % CELLS for k in range(50)}))
    seen = publisher.ledger.last_slot
    schedule.restore({**schedule.state(), "detects_change": 1, "seen": seen})  # as if the stream had jumped
    publisher.join("moving", Dynamic((2, 6)))
    decisions = [publisher.step(Slot(number)).decision for number in range(10, 31)]
    assert decisions.count(Decision.PUBLISHED) >= 2
    assert not schedule.detects_change


@pytest.mark.skipif(len(FAST) < 2, reason="needs numba")
@pytest.mark.parametrize("window", [5, 7, 20])
def test_the_pace_is_the_same_with_and_without_numba(window: int) -> None:
    """Neither waits for a window of an empty cohort, which no longer binds any person."""
    people: dict[Hashable, Requirement] = {k: Dynamic((0.05, 4), (0.05, 3)) for k in range(100)}
    people["long"] = Fixed(0.05, window)
    both = [auto(Register.from_rows(people), CELLS, noise=SeededNoise(1), fast=fast) for fast in (False, True)]
    rng, paces = np.random.default_rng(1), []
    for number in range(1, 50):
        cells = {k: int(rng.integers(CELLS)) for k in range(100)}
        for publisher in both:
            if number == 3:
                publisher.leave("long")
            publisher.step(Slot(number, cells))
        states = [publisher.schedule.state() for publisher in both]
        assert states[0] == states[1]
        paces.append(states[0]["interval"])
    assert paces[-1] == 4
