"""Kept people and published counts against exact distributions (error rates: see `laws`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical.laws import LARGEST_Z, Ints, Law, assert_drawn_from, assert_moments, kept_law, laplace_law
from tests.support import quick_and_slow

from wevent.cohorts.histogram import PersonTally, RowTally, Tally
from wevent.decisions.sampling import keep_people, sample
from wevent.decisions.selection import Selection
from wevent.noise import SeededNoise
from wevent.units import NANO


@dataclass(frozen=True)
class SampledPeople:
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
    SampledPeople((1,), (0.5,), 1.0),
    SampledPeople((3, 2, 1, 1), (0.2, 0.7, 1.0, 2.0), 1.0),
    SampledPeople((2, 1, 3), (0.0, 1e-2, 0.4), 0.4),
    SampledPeople((2, 2, 2), (0.6, 0.6, 1.1), 1.1),
    SampledPeople((4, 0, 1), (1.9, 0.1, 3.0), 2.0),
]
MANY = [
    SampledPeople((30, 9), (0.3, 0.8), 0.8),
    SampledPeople((20, 15, 10, 3), (0.2, 0.7, 0.9, 1.0), 1.0),
    SampledPeople((25, 5, 5), (0.0, 0.5, 3.0), 2.5),
]
CELLS = 20_000


class Spy(SeededNoise):
    """Remembers whether a coin was tossed for each person."""

    singly = False

    def bernoulli(self, probabilities: object) -> NDArray[np.bool_]:
        self.singly = True
        return super().bernoulli(probabilities)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("group", "by_row", "singly"),
    [
        *((group, False, True) for group in FEW),  # a coin per person
        *((group, True, False) for group in FEW),  # counts per row, without single persons
        *((group, False, False) for group in MANY),  # one binomial draw per budget and cell
    ],
    ids=str,
)
def test_kept_people(group: SampledPeople, by_row: bool, singly: bool) -> None:
    """Each path keeps as many as independent coins: mean, variance and distribution."""
    tally, sizes = group.per_row(CELLS) if by_row else group.one_by_one(CELLS)
    noise = Spy(12 if by_row else 11 if singly else 13)
    kept = keep_people(tally, group.selection, sizes, noise)
    assert noise.singly == singly
    assert_moments(kept, group.law)
    assert_drawn_from(kept, group.law)


@pytest.mark.parametrize("group", [*FEW[:2], MANY[0]], ids=str)
def test_neighbouring_cells_are_independent(group: SampledPeople) -> None:
    """The covariance of neighbouring cells is 0, for both ways of keeping people."""
    tally, sizes = group.one_by_one(CELLS)
    kept = keep_people(tally, group.selection, sizes, SeededNoise(14)) - group.law.mean
    products = kept[0::2] * kept[1::2]
    assert abs(products.mean()) / (group.law.moment(2) / math.sqrt(products.size)) < LARGEST_Z


def test_two_cells_per_person() -> None:
    """With two cells per person every cell has its own coin: the distribution per cell is the same."""
    group = SampledPeople((3, 2), (0.4, 1.0), 1.0)
    pairs = 10_000
    rows = np.tile(np.repeat([0, 1], group.people), pairs)
    first = np.repeat(2 * np.arange(pairs), 5)
    cells = np.stack([first, first + 1], axis=1)
    tally = PersonTally(rows, cells, {}, np.full(2 * pairs, 5))
    kept = keep_people(tally, group.selection, np.array(group.people) * pairs, SeededNoise(15))
    assert_drawn_from(kept, group.law)
    products = (kept[0::2] - group.law.mean) * (kept[1::2] - group.law.mean)
    assert abs(products.mean()) / (group.law.moment(2) / math.sqrt(pairs)) < LARGEST_Z


def test_declared_group_beside_people() -> None:
    """A declared group of people without names is sampled like other people of its budget."""
    group = SampledPeople((2, 1, 3), (0.5, 1.5, 0.9), 1.5)
    cells = 5_000
    tally, sizes = SampledPeople(group.people[:2], group.budgets[:2], 1.5).one_by_one(cells)
    with_group = PersonTally(tally._rows, tally._cells, {2: np.full(cells, 3)}, tally.total())
    kept = keep_people(with_group, group.selection, np.append(sizes, 3 * cells), SeededNoise(16))
    assert_drawn_from(kept, group.law)


@pytest.mark.parametrize("by_row", quick_and_slow([False], [True]))
def test_small_domain_call_by_call(by_row: bool) -> None:
    """Three cells with different people, drawn in every call: each of them, and their sum."""
    counts = np.array([[3, 0, 1], [2, 4, 0], [1, 1, 5]])
    budgets, threshold = (0.2, 0.6, 1.0), 1.0
    sizes = counts.sum(axis=1) + 1  # one person of each row is absent
    rows, where = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    tally: Tally = RowTally(counts) if by_row else PersonTally(rows, where, {}, counts.sum(axis=0))
    selection = SampledPeople((1, 1, 1), budgets, threshold).selection
    noise = SeededNoise(17)
    kept = np.array([keep_people(tally, selection, sizes, noise) for _ in range(6_000)])
    laws = [kept_law(column.tolist(), budgets, threshold) for column in counts.T]
    for cell, law in enumerate(laws):
        assert_moments(kept[:, cell], law)
        assert_drawn_from(kept[:, cell], law)
    assert_moments(kept.sum(axis=1), laws[0] + laws[1] + laws[2])


@pytest.mark.parametrize("sensitivity", [1, 2, 6])
@pytest.mark.parametrize("group", [FEW[1], FEW[3], MANY[1]], ids=str)
def test_published_counts(group: SampledPeople, sensitivity: int) -> None:
    """A publication is the kept people plus discrete Laplace noise of scale s/θ."""
    tally, sizes = group.one_by_one(CELLS)
    counts = sample(tally, group.selection, sizes, sensitivity, SeededNoise(18))
    law = group.law + laplace_law(sensitivity / group.threshold)
    assert_moments(counts, law)
    assert_drawn_from(counts, law)


def test_wrong_chances_are_detected() -> None:
    """These tests reject keeping probabilities that are 5 % off and a noise scale that is 8 % off."""
    group = FEW[1]
    tally, sizes = group.one_by_one(CELLS)
    kept = keep_people(tally, group.selection, sizes, SeededNoise(19))
    off = kept_law(group.people, (0.21, 0.73, 1.0, 2.0), 1.0)
    with pytest.raises(AssertionError):
        assert_moments(kept, off)
    counts = sample(tally, group.selection, sizes, 2, SeededNoise(19))
    with pytest.raises(AssertionError):
        assert_moments(counts, group.law + laplace_law(2 / 1.08))
