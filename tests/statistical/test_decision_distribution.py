"""Kept people, published counts and measured change against exact distributions.

The seeds are fixed, so that nothing fails by chance. Each test is made so that with other seeds it would fail in
at most one of 10⁵ runs: single statistics are compared with quantiles of 10⁻⁶, no bin expects fewer than 50 draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from wevent import Fixed, Privacy, Register, Slot, pbd
from wevent.cohorts.histogram import PersonTally, RowTally, Tally
from wevent.decisions.change import measure_change
from wevent.decisions.sampling import keep_people, sample
from wevent.decisions.selection import Selection, choose_threshold
from wevent.noise import SeededNoise
from wevent.releases.release import Decision
from wevent.units import NANO

FALSE_ALARM = 1e-6
LARGEST_Z = float(stats.norm.isf(FALSE_ALARM / 2))
LEAST_EXPECTED = 50

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Law:
    """A distribution on whole numbers: `chances[k]` is that of `first + k`."""

    def __init__(self, chances: Floats, first: int = 0) -> None:
        self.chances, self.first = chances / chances.sum(), first
        self.values = first + np.arange(chances.size)
        self.mean = float(self.chances @ self.values)

    def __add__(self, other: Law) -> Law:
        return Law(np.convolve(self.chances, other.chances), self.first + other.first)

    def moment(self, power: int) -> float:
        return float(self.chances @ (self.values - self.mean) ** power)

    def distance_to(self, point: int) -> Law:
        away = np.abs(self.values - point)
        return Law(np.bincount(away, self.chances))


def kept_law(people: Sequence[int], budgets: Sequence[float], threshold: float) -> Law:
    """Everybody tosses a coin of their own; the chances are those of SPEC §4, computed anew."""
    law = Law(np.ones(1))
    for n, e in zip(people, budgets, strict=True):
        p = 1.0 if e >= threshold else math.expm1(e) / math.expm1(threshold)
        for _ in range(n):
            law += Law(np.array([1 - p, p]))
    return law


def laplace_law(scale: float) -> Law:
    reach = math.ceil(40 * scale)
    return Law(np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale), -reach)


def assert_drawn_from(draws: Ints, law: Law) -> None:
    """Chi-square, after joining neighbouring values that expect too few."""
    places = np.clip(draws - law.first, 0, law.chances.size - 1)
    assert (places == draws - law.first).all(), "a value outside the distribution was drawn"
    seen, due = [0.0], [0.0]
    for count, chance in zip(np.bincount(places, minlength=law.chances.size), law.chances, strict=True):
        if due[-1] >= LEAST_EXPECTED:
            seen.append(0.0)
            due.append(0.0)
        seen[-1] += count
        due[-1] += chance * draws.size
    if due[-1] < LEAST_EXPECTED and len(due) > 1:
        rest_seen, rest_due = seen.pop(), due.pop()
        seen[-1] += rest_seen
        due[-1] += rest_due
    assert len(due) > 1, "too few draws for a test"
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(seen, due, strict=True))
    assert stats.chi2.sf(statistic, len(due) - 1) > FALSE_ALARM


def assert_moments(draws: Ints, law: Law) -> None:
    """Mean and variance, each by a z-test with the exact variance of its estimate."""
    n, variance = draws.size, law.moment(2)
    if variance < 1e-12:
        assert (draws == round(law.mean)).all()
        return
    assert abs(draws.mean() - law.mean) / math.sqrt(variance / n) < LARGEST_Z
    spread = math.sqrt((law.moment(4) - variance**2) / n)
    assert abs(((draws - law.mean) ** 2).mean() - variance) / spread < LARGEST_Z


@dataclass(frozen=True)
class Crowd:
    """People of several budgets in one cell; row k has `people[k]` of them with budget `budgets[k]`."""

    people: tuple[int, ...]
    budgets: tuple[float, ...]
    threshold: float

    @property
    def law(self) -> Law:
        return kept_law(self.people, self.budgets, self.threshold)

    @property
    def selection(self) -> Selection:
        units = np.array([round(e * NANO) for e in self.budgets], np.int64)
        return Selection(round(self.threshold * NANO), 0.0, 0.0, 0.0, units)

    def one_by_one(self, cells: int) -> tuple[PersonTally, Ints]:
        """The same people in each of many cells, so that one call draws many times."""
        rows = np.repeat(np.tile(np.arange(len(self.people)), cells), np.tile(self.people, cells))
        where = np.repeat(np.arange(cells), sum(self.people))
        total = np.full(cells, sum(self.people))
        return PersonTally(rows, where, {}, total), np.array(self.people) * cells

    def per_row(self, cells: int) -> tuple[RowTally, Ints]:
        return RowTally(np.tile(np.array(self.people)[:, None], cells)), np.array(self.people) * cells


FEW = [
    Crowd((1,), (0.5,), 1.0),
    Crowd((3, 2, 1, 1), (0.2, 0.7, 1.0, 2.0), 1.0),
    Crowd((2, 1, 3), (0.0, 1e-2, 0.4), 0.4),
    Crowd((2, 2, 2), (0.6, 0.6, 1.1), 1.1),
    Crowd((4, 0, 1), (1.9, 0.1, 3.0), 2.0),
]
MANY = [
    Crowd((30, 9), (0.3, 0.8), 0.8),
    Crowd((20, 15, 10, 3), (0.2, 0.7, 0.9, 1.0), 1.0),
    Crowd((25, 5, 5), (0.0, 0.5, 3.0), 2.5),
]
CELLS = 20_000


class Spy(SeededNoise):
    """Remembers whether people were tossed for one by one."""

    singly = False

    def bernoulli(self, probabilities: object) -> NDArray[np.bool_]:
        self.singly = True
        return super().bernoulli(probabilities)  # type: ignore[arg-type]


@pytest.mark.parametrize("crowd", FEW, ids=str)
def test_kept_one_by_one(crowd: Crowd) -> None:
    """A coin per person keeps what independent coins keep: mean, variance and distribution."""
    tally, sizes = crowd.one_by_one(CELLS)
    noise = Spy(11)
    kept = keep_people(tally, crowd.selection, sizes, noise)
    assert noise.singly
    assert_moments(kept, crowd.law)
    assert_drawn_from(kept, crowd.law)


@pytest.mark.parametrize("crowd", FEW, ids=str)
def test_kept_from_counts(crowd: Crowd) -> None:
    """Counts per row, where nobody can be told apart, give the same distribution."""
    tally, sizes = crowd.per_row(CELLS)
    noise = Spy(12)
    kept = keep_people(tally, crowd.selection, sizes, noise)
    assert not noise.singly
    assert_moments(kept, crowd.law)
    assert_drawn_from(kept, crowd.law)


@pytest.mark.parametrize("crowd", MANY, ids=str)
def test_kept_by_budget_and_cell(crowd: Crowd) -> None:
    """One binomial draw per budget and cell keeps what independent coins keep."""
    tally, sizes = crowd.one_by_one(CELLS)
    noise = Spy(13)
    kept = keep_people(tally, crowd.selection, sizes, noise)
    assert not noise.singly
    assert_moments(kept, crowd.law)
    assert_drawn_from(kept, crowd.law)


@pytest.mark.parametrize("crowd", [*FEW[:2], MANY[0]], ids=str)
def test_neighbouring_cells_are_independent(crowd: Crowd) -> None:
    """The covariance of neighbouring cells is 0, for both ways of keeping people."""
    tally, sizes = crowd.one_by_one(CELLS)
    kept = keep_people(tally, crowd.selection, sizes, SeededNoise(14)) - crowd.law.mean
    products = kept[0::2] * kept[1::2]
    assert abs(products.mean()) / (crowd.law.moment(2) / math.sqrt(products.size)) < LARGEST_Z


def test_two_cells_per_person() -> None:
    """With two cells per person every cell has its own coin: the distribution per cell is the same."""
    crowd = Crowd((3, 2), (0.4, 1.0), 1.0)
    pairs = 10_000
    rows = np.tile(np.repeat([0, 1], crowd.people), pairs)
    first = np.repeat(2 * np.arange(pairs), 5)
    cells = np.stack([first, first + 1], axis=1)
    tally = PersonTally(rows, cells, {}, np.full(2 * pairs, 5))
    kept = keep_people(tally, crowd.selection, np.array(crowd.people) * pairs, SeededNoise(15))
    assert_drawn_from(kept, crowd.law)
    products = (kept[0::2] - crowd.law.mean) * (kept[1::2] - crowd.law.mean)
    assert abs(products.mean()) / (crowd.law.moment(2) / math.sqrt(pairs)) < LARGEST_Z


def test_declared_group_beside_people() -> None:
    """A declared group of people without names is sampled like everybody else of its budget."""
    crowd = Crowd((2, 1, 3), (0.5, 1.5, 0.9), 1.5)
    cells = 5_000
    tally, sizes = Crowd(crowd.people[:2], crowd.budgets[:2], 1.5).one_by_one(cells)
    with_group = PersonTally(tally._rows, tally._cells, {2: np.full(cells, 3)}, tally.total())
    kept = keep_people(with_group, crowd.selection, np.append(sizes, 3 * cells), SeededNoise(16))
    assert_drawn_from(kept, crowd.law)


@pytest.mark.parametrize("by_row", [False, True])
def test_small_domain_call_by_call(by_row: bool) -> None:
    """Three cells with different people, drawn anew in every call: mean and variance of each, and of their sum."""
    counts = np.array([[3, 0, 1], [2, 4, 0], [1, 1, 5]])
    budgets, threshold = (0.2, 0.6, 1.0), 1.0
    sizes = counts.sum(axis=1) + 1  # one of each row stays away
    rows, where = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    tally: Tally = RowTally(counts) if by_row else PersonTally(rows, where, {}, counts.sum(axis=0))
    selection = Crowd((1, 1, 1), budgets, threshold).selection
    noise = SeededNoise(17)
    kept = np.array([keep_people(tally, selection, sizes, noise) for _ in range(6_000)])
    laws = [kept_law(column.tolist(), budgets, threshold) for column in counts.T]
    for cell, law in enumerate(laws):
        assert_moments(kept[:, cell], law)
        assert_drawn_from(kept[:, cell], law)
    assert_moments(kept.sum(axis=1), laws[0] + laws[1] + laws[2])


@pytest.mark.parametrize("sensitivity", [1, 2, 6])
@pytest.mark.parametrize("crowd", [FEW[1], FEW[3], MANY[1]], ids=str)
def test_published_counts(crowd: Crowd, sensitivity: int) -> None:
    """A publication is the kept people plus discrete Laplace noise of scale s/θ."""
    tally, sizes = crowd.one_by_one(CELLS)
    counts = sample(tally, crowd.selection, sizes, sensitivity, SeededNoise(18))
    law = crowd.law + laplace_law(sensitivity / crowd.threshold)
    assert_moments(counts, law)
    assert_drawn_from(counts, law)


def test_wrong_chances_are_seen() -> None:
    """These tests reject keeping probabilities that are 5 % off and a noise scale that is 8 % off (fixed seed)."""
    crowd = FEW[1]
    tally, sizes = crowd.one_by_one(CELLS)
    kept = keep_people(tally, crowd.selection, sizes, SeededNoise(19))
    off = kept_law(crowd.people, (0.21, 0.73, 1.0, 2.0), 1.0)
    with pytest.raises(AssertionError):
        assert_moments(kept, off)
    counts = sample(tally, crowd.selection, sizes, 2, SeededNoise(19))
    with pytest.raises(AssertionError):
        assert_moments(counts, crowd.law + laplace_law(2 / 1.08))


CALLS = 8_000


@pytest.mark.parametrize(("sensitivity", "share"), [(1, 0.5), (1, 2.0), (2, 0.5), (3, 1.0), (4, 0.8)])
def test_change_of_people_who_are_all_kept(sensitivity: int, share: float) -> None:
    """The measure less the exact sum is discrete Laplace noise of scale s/θ, against a rounded reference."""
    counts = np.array([[5, 0, 2, 9], [1, 1, 0, 0]])
    reference = np.array([3.4, -2.0, 2.6, 100.5])  # rounds to 3, -2, 3, 100
    exact = 3 + 3 + 1 + 91
    budgets = np.full(2, round(share * NANO))
    noise, sizes = SeededNoise(21), np.array([16, 2])
    noisy = np.empty(CALLS, np.int64)
    for call in range(CALLS):
        change = measure_change(RowTally(counts), budgets, reference, sizes, sensitivity, noise)
        assert change is not None
        noisy[call] = round(change.distance * 4)
    law = laplace_law(sensitivity / share)
    assert_moments(noisy - exact, law)
    assert_drawn_from(noisy - exact, law)


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_change_of_people_who_are_sampled(sensitivity: int) -> None:
    """With sampling, the measure is the distance of the kept people plus noise of scale s/θ."""
    counts, budgets = np.array([[2, 1], [3, 6]]), (0.3, 0.9)
    units = np.array([round(e * NANO) for e in budgets])
    sizes, noise, reference = np.array([3, 9]), SeededNoise(22), np.array([4, 5])
    assert choose_threshold(units, sizes, sensitivity).threshold == units[1]
    noisy = np.empty(CALLS, np.int64)
    for call in range(CALLS):
        change = measure_change(RowTally(counts), units, reference, sizes, sensitivity, noise)
        assert change is not None
        noisy[call] = round(change.distance * 2)
    kept = [kept_law(column.tolist(), budgets, 0.9) for column in counts.T]
    law = kept[0].distance_to(4) + kept[1].distance_to(5) + laplace_law(sensitivity / 0.9)
    assert_moments(noisy, law)
    assert_drawn_from(noisy, law)


@pytest.mark.parametrize(
    "privacy",
    [Privacy(), Privacy("substitution"), Privacy(contributions=3), Privacy("substitution", contributions=2)],
    ids=lambda privacy: f"{privacy.neighbours}-{privacy.contributions}",
)
def test_change_and_noise_of_a_publisher(privacy: Privacy, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a running publisher: both noises have their scales, s and k included, and are independent."""
    monkeypatch.setattr("wevent.decisions.selection.has_numba", lambda: False, raising=False)  # only for speed
    slots, s, people = 4_000, privacy.sensitivity, 100
    register = Register.from_levels([Fixed(4, 1)], np.zeros(people, np.int64))
    publisher = pbd(register, 2, privacy=privacy, noise=SeededNoise(23), fast=False)
    last, change_noise, count_noise = np.zeros(2, np.int64), [], []
    for number in range(1, slots + 1):
        side = number % 2  # everybody moves to the other cell, so that there is always something to publish
        release = publisher.step(Slot(number, np.full(people, side)))
        counts = np.array([(1 - side) * people, side * people])
        assert release.decision is Decision.PUBLISHED
        assert publisher.trace is not None and publisher.trace.change is not None
        change_noise.append(round(publisher.trace.change.distance * 2) - int(np.abs(counts - last).sum()))
        count_noise.append(release.counts - counts)
        last = release.counts
    change, north, south = np.array(change_noise), *np.array(count_noise).T
    assert_drawn_from(change, laplace_law(s / 2))  # part 1 is E/2 = 2
    assert_drawn_from(north, laplace_law(s / 1))  # part 2 is E/4 = 1
    assert_drawn_from(south, laplace_law(s / 1))
    pairs = np.corrcoef([change, north, south])[[0, 0, 1], [1, 2, 2]]
    assert (np.abs(pairs) * math.sqrt(slots) < LARGEST_Z).all()
