"""LPU, LPD and LPA: who reports when, how many of them, and that their counts are right in the mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.statistical.laws import LARGEST_Z
from tests.study.baselines.local_runs import BaselineRun, Ints, alike, run
from tests.support import ONE, fixed, quick_and_slow

from wevent.noise import SeededNoise, StudyNoise
from wevent.study.baselines.ldp_ids_people import LPA, LPD, LPU, PeopleDivision

kinds = pytest.mark.parametrize("kind", [LPU, LPD, LPA], ids=lambda kind: kind.name)


def all_in(people: int, *cells: int) -> list[Ints]:
    """In each slot everybody is in one cell."""
    return [np.full(people, cell) for cell in cells]


def reporters(found: BaselineRun) -> list[int]:
    """How many people reported in each slot."""
    return [int(np.count_nonzero(spends)) for spends in found.spends]


@kinds
@given(
    people=st.integers(1, 60),
    window=st.integers(1, 12),
    epsilon=st.sampled_from([ONE // 2, 3 * ONE, 50 * ONE]),
    cells=st.lists(st.integers(-1, 1), min_size=1, max_size=40),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None)
def test_nobody_reports_twice_in_a_window(
    kind: type[PeopleDivision], people: int, window: int, epsilon: int, cells: list[int], seed: int
) -> None:
    """A person who reports spends the whole E, and nothing in the w - 1 slots around it, whatever is decided."""
    register = alike(epsilon, window, people)
    found = run(kind(register, 2, noise=SeededNoise(seed)), register, all_in(people, *cells))
    assert set(np.unique(found.spends).tolist()) <= {0, epsilon}
    assert found.worst([fixed(epsilon, window)]) <= 1
    for last in range(len(cells)):
        assert (np.count_nonzero(found.spends[max(0, last - window + 1) : last + 1], axis=0) <= 1).all()


def test_lpu_asks_everybody_in_turn() -> None:
    """In any w slots everybody reports exactly once, by groups whose sizes differ by at most one."""
    register = alike(ONE, 7, 45)
    found = run(LPU(register, 2, noise=SeededNoise(1)), register, all_in(45, *[0, 1] * 15))
    for first in range(30 - 7 + 1):
        assert (found.spends[first : first + 7].sum(axis=0) == ONE).all()
    assert set(reporters(found)) == {6, 7}
    assert found.letters == "p" * 30


def test_lpd_halves_the_people_who_are_left() -> None:
    """With 80 people and w = 4, ten measure in each slot; 20, 10 and 5 publish, and 20 of them come back in slot 5."""
    register = alike(100 * ONE, 4, 80)
    found = run(LPD(register, 2, noise=SeededNoise(1), complete=True), register, all_in(80, 0, 0, 1, 0, 1))
    assert found.letters == "psppp"
    assert reporters(found) == [10 + 20, 10, 10 + 10, 10 + 5, 10 + 12]


def test_lpa_saves_people_and_rests() -> None:
    """With 80 people and w = 4: ten publish, skip, the twenty of two slots publish, rest, ten publish."""
    register = alike(100 * ONE, 4, 80)
    found = run(LPA(register, 2, noise=SeededNoise(1), complete=True), register, all_in(80, 0, 0, 1, *[0] * 7, 1))
    assert found.letters == "pspnpsssssp"
    assert reporters(found) == [20, 10, 30, 10, 20, *[10] * 5, 10 + 40]
    assert np.array_equal(found.counts[3], found.counts[2])
    assert np.abs(found.counts[[0, 2, 4]] - [[80, 0], [0, 80], [80, 0]]).max() < 1e-3


@kinds
def test_who_reports_does_not_depend_on_where_people_are(kind: type[PeopleDivision]) -> None:
    """Other places that lead to the same decisions select the same people; another seed selects others."""
    register = alike(100 * ONE, 5, 200)
    jumps = [0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1]
    first = run(kind(register, 3, noise=SeededNoise(8), complete=True), register, all_in(200, *jumps))
    mirrored = all_in(200, *(2 - cell for cell in jumps))
    other = run(kind(register, 3, noise=SeededNoise(8), complete=True), register, mirrored)
    assert first.letters == other.letters
    assert np.array_equal(first.spends, other.spends)
    third = run(kind(register, 3, noise=SeededNoise(9), complete=True), register, all_in(200, *jumps))
    assert not np.array_equal(first.spends, third.spends)


@pytest.mark.parametrize("kind", quick_and_slow([LPD], [LPU, LPA]), ids=lambda kind: kind.name)
def test_everybody_is_as_likely_to_report(kind: type[PeopleDivision]) -> None:
    """Over 400 seeds, the people who report in slot 1 are spread evenly: every z-score below the quantile of 10⁻⁶."""
    register = alike(ONE, 4, 40)
    times = np.zeros(40)
    for seed in range(400):
        baseline = kind(register, 2, noise=SeededNoise(seed))
        times += run(baseline, register, all_in(40, 0)).spends[0] > 0
    chance = times.mean() / 400
    assert 0 < chance < 1
    assert (np.abs(times - 400 * chance) < LARGEST_Z * np.sqrt(400 * chance * (1 - chance))).all()


@pytest.mark.parametrize("cells", quick_and_slow([60], [3]))
def test_counts_of_lpu_are_unbiased(cells: int) -> None:
    """Few report, everybody is estimated: the mean over whole turns is right; a z-test fails for one seed of 10⁶."""
    register = alike(ONE, 4, 400)
    places = np.repeat([0, 1, 2, -1], [200, 100, 40, 60])
    found = run(LPU(register, cells, noise=StudyNoise(2)), register, [places] * 2000)
    truth = np.array([200, 100, 40] + [0] * (cells - 3))
    error = found.counts.std(axis=0) / np.sqrt(2000)
    assert (np.abs(found.counts.mean(axis=0) - truth) < LARGEST_Z * error).all()


@kinds
@pytest.mark.parametrize("people", [1, 2, 5])
def test_fewer_people_than_slots(kind: type[PeopleDivision], people: int) -> None:
    """With fewer people than 2w nobody reports in some slots, which repeat; w slots still take as many as they may."""
    register = alike(50 * ONE, 10, people)
    found = run(kind(register, 2, noise=SeededNoise(1), complete=True), register, all_in(people, *[0, 1] * 20))
    assert found.worst([fixed(50 * ONE, 10)]) <= 1
    assert sum(reporters(found)) >= 4 * (people if kind is LPU else people // 2)


@kinds
def test_dividing_people_beats_dividing_budget(kind: type[PeopleDivision]) -> None:
    """At E = 1, w = 20 and 2,000 people the error is below a tenth of n·e^ε/(e^ε-1)² at ε = E/w, which LBU has."""
    register = alike(ONE, 20, 2000)
    places = np.repeat([0, 1], [1500, 500])
    found = run(kind(register, 2, noise=StudyNoise(3), complete=True), register, [places] * 300)
    lbu = 2000 * np.exp(0.05) / np.expm1(0.05) ** 2
    assert ((found.counts - [1500, 500]) ** 2).mean() < lbu / 10
