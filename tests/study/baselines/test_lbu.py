"""LBU and PLBU: what they spend, and that their counts are right in the mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.statistical.laws import LARGEST_Z
from tests.study.baselines.local_runs import Floats, run
from tests.support import ONE, Recorded, fixed, quick_and_slow

from wevent.cohorts.register import Register
from wevent.events.slot import Slot
from wevent.noise import SeededNoise, StudyNoise
from wevent.study.baselines.lbu import LBU, PLBU, PLBUSum
from wevent.study.baselines.local import LocalBaseline


def off(counts: Floats, truth: list[int]) -> Floats:
    """How many standard errors the means of many slots are away from the truth (axes: cell)."""
    return np.abs(counts.mean(axis=0) - truth) / (counts.std(axis=0) / np.sqrt(len(counts)))


requirement = st.tuples(st.integers(1, 30).map(lambda tenths: tenths * ONE // 10), st.integers(1, 9))


@given(pairs=st.lists(requirement, min_size=1, max_size=6), seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_every_window_keeps_its_budget(pairs: list[tuple[int, int]], seed: int) -> None:
    """E/w by the strictest requirement, E_i/w_i by each person's own: windows are full up to rounding, never fuller."""
    requirements = [fixed(*pair) for pair in pairs]
    register = Register.from_rows([(k, own) for k, own in enumerate(requirements)])
    stream = np.random.default_rng(seed).integers(-1, 3, (20, len(requirements)))
    common = fixed(min(e for e, _ in pairs), max(w for _, w in pairs))
    found = run(LBU(register, 3, noise=SeededNoise(seed)), register, stream)
    assert 1 - Fraction(1, 10**6) < found.worst([common]) <= 1
    rows = [requirements[int(np.argmax(register.rows == row))] for row in range(register.sizes.size)]
    for kind in (PLBU, PLBUSum):
        found = run(kind(register, 3, noise=SeededNoise(seed)), register, stream)
        assert 1 - Fraction(1, 10**6) < found.worst(rows) <= 1
        assert found.letters == "p" * 20
        assert found.spends.tolist() == [[own.units // own.window for own in rows]] * 20


@pytest.mark.slow
def test_error_of_lbu() -> None:
    """At E = 0.6, w = 120 and N = 10,000 in two cells the mean square is 4·10⁸; 3,000 slots, six standard errors."""
    register = Register.from_levels([fixed(600_000_000, 120)], np.zeros(10_000, np.int64))
    places = (np.arange(10_000) < 750).astype(np.int64)
    found = run(LBU(register, 2, noise=StudyNoise(1), complete=True), register, [places] * 3000)
    squares = ((found.counts - [9250, 750]) ** 2).mean(axis=1)
    assert squares.mean() == pytest.approx(4e8, rel=6 * np.sqrt(2 / 3000))


@pytest.mark.parametrize("kind", quick_and_slow([PLBU], [LBU, PLBUSum]))
@pytest.mark.parametrize("cells", quick_and_slow([3], [40]))
def test_unbiased_where_groups_are_alike(kind: type[LBU | PLBU], cells: int) -> None:
    """By GRR, by OUE and (40 cells) by both at once, with people absent; a z-test fails for one seed of 10⁶."""
    register = Register.from_arrays(np.repeat([1.0, 16.0], 400), np.repeat(4, 800))
    places = np.tile(np.repeat([0, 1, 2, -1], [200, 100, 60, 40]), 2)
    found = run(kind(register, cells, noise=StudyNoise(2)), register, [places] * 1500)
    truth = [400, 200, 120] + [0] * (cells - 3)
    assert (off(found.counts, truth) < LARGEST_Z).all()


def test_groups_that_differ() -> None:
    """Where they differ, the sum is unbiased; weighted frequencies are biased to the group that reports better."""
    register = Register.from_arrays(np.repeat([8.0, 2.0], [700, 300]), np.repeat([32, 1], [700, 300]))
    places = np.repeat([0, 1], [700, 300])
    added = run(PLBUSum(register, 2, noise=StudyNoise(3), complete=True), register, [places] * 1500)
    assert (off(added.counts, [700, 300]) < LARGEST_Z).all()
    weighted = run(PLBU(register, 2, noise=StudyNoise(3), complete=True), register, [places] * 1500)
    weight = np.array([700, 300]) * np.expm1([0.25, 2.0]) ** 2 / np.exp([0.25, 2.0])
    assert (off(weighted.counts, (1000 * weight / weight.sum()).tolist()) < LARGEST_Z).all()


@pytest.mark.slow
def test_own_budgets_are_worth_it() -> None:
    """Alike groups: PLBU is more exact than its plain sum, and that more exact than LBU, by what the formulas say."""
    register = Register.from_arrays(np.repeat([1.0, 2.0], 500), np.repeat(20, 1000))
    places = np.tile(np.repeat([0, 1], [450, 50]), 2)
    group_by_person = np.exp([0.05, 0.1]) / np.expm1([0.05, 0.1]) ** 2
    expected: dict[type[LocalBaseline], float] = {
        LBU: 1000 * group_by_person[0],
        PLBUSum: 500 * group_by_person.sum(),
        PLBU: 1000**2 / (500 / group_by_person).sum(),
    }
    for kind, due in expected.items():
        found = run(kind(register, 2, noise=StudyNoise(4), complete=True), register, [places] * 1500)
        assert ((found.counts - [900, 100]) ** 2).mean() == pytest.approx(due, rel=6 * np.sqrt(2 / 1500))
    assert expected[PLBU] < expected[PLBUSum] < expected[LBU]


def test_rows_that_spend_alike_report_together() -> None:
    """(0.5, 5) and (1, 10) spend the same: one group, so one row of draws; a third requirement makes a second."""
    alike = Register.from_rows({"user-0": fixed(ONE // 2, 5), "user-1": fixed(ONE, 10)})
    apart = Register.from_rows({"user-0": fixed(ONE // 2, 5), "user-1": fixed(ONE, 10), "user-2": fixed(ONE, 9)})
    for register, groups in ((alike, 1), (apart, 2)):
        noise = Recorded(1)
        run(PLBU(register, 2, noise=noise, complete=True), register, [np.zeros(len(register), np.int64)])
        assert noise.draws == [("binomial", None, 2 * groups), ("binomial", None, groups)]


def test_declared_groups_report_too() -> None:
    """A group of declared size has a row, a requirement and reports like everybody else."""
    register = Register.from_rows({"user-0": fixed(100 * ONE, 1)}).with_group("group-0", fixed(100 * ONE, 2), 50)
    found = PLBU(register, 2, noise=SeededNoise(1))
    shown = found.step(Slot(1, counts=np.array([[1, 0], [10, 30]])))
    assert found.people == 51
    assert np.abs(shown.counts - [11, 30]).max() < 0.5
