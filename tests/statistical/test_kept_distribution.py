"""Kept people and published counts against exact distributions (error rates: see `laws`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical.laws import (
    LARGEST_Z,
    Ints,
    Law,
    assert_drawn_from,
    assert_moments,
    kept_law,
    laplace_law,
)
from tests.support import quick_and_slow

from wevent.cohorts.histogram import PersonTally, RowTally, Tally
from wevent.decisions.sampling import keep_people, sample
from wevent.decisions.selection import Selection
from wevent.noise import SeededNoise
from wevent.units import NANO


@dataclass(frozen=True)
class IndividualRows:
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
    IndividualRows((1,), (0.5,), 1.0),
    IndividualRows((3, 2, 1, 1), (0.2, 0.7, 1.0, 2.0), 1.0),
    IndividualRows((2, 1, 3), (0.0, 1e-2, 0.4), 0.4),
    IndividualRows((2, 2, 2), (0.6, 0.6, 1.1), 1.1),
    IndividualRows((4, 0, 1), (1.9, 0.1, 3.0), 2.0),
]
MANY = [
    IndividualRows((30, 9), (0.3, 0.8), 0.8),
    IndividualRows((20, 15, 10, 3), (0.2, 0.7, 0.9, 1.0), 1.0),
    IndividualRows((25, 5, 5), (0.0, 0.5, 3.0), 2.5),
]
CELLS = 20_000


class Spy(SeededNoise):
    """Remembers whether people were tossed for one by one."""

    singly = False

    def bernoulli(self, probabilities: object) -> NDArray[np.bool_]:
        self.singly = True
        return super().bernoulli(probabilities)  # type: ignore[arg-type]


@pytest.mark.parametrize("individual", FEW, ids=str)
def test_kept_one_by_one(individual: IndividualRows) -> None:
    """A coin per person keeps what independent coins keep: mean, variance and distribution."""
    tally, sizes = individual.one_by_one(CELLS)
    noise = Spy(11)
    kept = keep_people(tally, individual.selection, sizes, noise)
    assert noise.singly
    assert_moments(kept, individual.law)
    assert_drawn_from(kept, individual.law)


@pytest.mark.parametrize("individual", FEW, ids=str)
def test_kept_from_counts(individual: IndividualRows) -> None:
    """Counts per row, where nobody can be told apart, give the same distribution."""
    tally, sizes = individual.per_row(CELLS)
    noise = Spy(12)
    kept = keep_people(tally, individual.selection, sizes, noise)
    assert not noise.singly
    assert_moments(kept, individual.law)
    assert_drawn_from(kept, individual.law)


@pytest.mark.parametrize("individual", MANY, ids=str)
def test_kept_by_budget_and_cell(individual: IndividualRows) -> None:
    """One binomial draw per budget and cell keeps what independent coins keep."""
    tally, sizes = individual.one_by_one(CELLS)
    noise = Spy(13)
    kept = keep_people(tally, individual.selection, sizes, noise)
    assert not noise.singly
    assert_moments(kept, individual.law)
    assert_drawn_from(kept, individual.law)


@pytest.mark.parametrize("individual", [*FEW[:2], MANY[0]], ids=str)
def test_neighbouring_cells_are_independent(individual: IndividualRows) -> None:
    """The covariance of neighbouring cells is 0, for both ways of keeping people."""
    tally, sizes = individual.one_by_one(CELLS)
    kept = keep_people(tally, individual.selection, sizes, SeededNoise(14)) - individual.law.mean
    products = kept[0::2] * kept[1::2]
    assert abs(products.mean()) / (individual.law.moment(2) / math.sqrt(products.size)) < LARGEST_Z


def test_two_cells_per_person() -> None:
    """With two cells per person every cell has its own coin: the distribution per cell is the same."""
    individual = IndividualRows((3, 2), (0.4, 1.0), 1.0)
    pairs = 10_000
    rows = np.tile(np.repeat([0, 1], individual.people), pairs)
    first = np.repeat(2 * np.arange(pairs), 5)
    cells = np.stack([first, first + 1], axis=1)
    tally = PersonTally(rows, cells, {}, np.full(2 * pairs, 5))
    kept = keep_people(tally, individual.selection, np.array(individual.people) * pairs, SeededNoise(15))
    assert_drawn_from(kept, individual.law)
    products = (kept[0::2] - individual.law.mean) * (kept[1::2] - individual.law.mean)
    assert abs(products.mean()) / (individual.law.moment(2) / math.sqrt(pairs)) < LARGEST_Z


def test_declared_group_beside_people() -> None:
    """A declared group of people without names is sampled like everybody else of its budget."""
    individual = IndividualRows((2, 1, 3), (0.5, 1.5, 0.9), 1.5)
    cells = 5_000
    tally, sizes = IndividualRows(individual.people[:2], individual.budgets[:2], 1.5).one_by_one(cells)
    with_group = PersonTally(tally._rows, tally._cells, {2: np.full(cells, 3)}, tally.total())
    kept = keep_people(with_group, individual.selection, np.append(sizes, 3 * cells), SeededNoise(16))
    assert_drawn_from(kept, individual.law)


@pytest.mark.parametrize("by_row", quick_and_slow([False], [True]))
def test_small_domain_call_by_call(by_row: bool) -> None:
    """Three cells with different people, drawn anew in every call: each of them, and their sum."""
    counts = np.array([[3, 0, 1], [2, 4, 0], [1, 1, 5]])
    budgets, threshold = (0.2, 0.6, 1.0), 1.0
    sizes = counts.sum(axis=1) + 1  # one of each row stays away
    rows, where = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    tally: Tally = RowTally(counts) if by_row else PersonTally(rows, where, {}, counts.sum(axis=0))
    selection = IndividualRows((1, 1, 1), budgets, threshold).selection
    noise = SeededNoise(17)
    kept = np.array([keep_people(tally, selection, sizes, noise) for _ in range(6_000)])
    laws = [kept_law(column.tolist(), budgets, threshold) for column in counts.T]
    for cell, law in enumerate(laws):
        assert_moments(kept[:, cell], law)
        assert_drawn_from(kept[:, cell], law)
    assert_moments(kept.sum(axis=1), laws[0] + laws[1] + laws[2])


@pytest.mark.parametrize("sensitivity", [1, 2, 6])
@pytest.mark.parametrize("individual", [FEW[1], FEW[3], MANY[1]], ids=str)
def test_published_counts(individual: IndividualRows, sensitivity: int) -> None:
    """A publication is the kept people plus discrete Laplace noise of scale s/θ."""
    tally, sizes = individual.one_by_one(CELLS)
    counts = sample(tally, individual.selection, sizes, sensitivity, SeededNoise(18))
    law = individual.law + laplace_law(sensitivity / individual.threshold)
    assert_moments(counts, law)
    assert_drawn_from(counts, law)


def test_wrong_chances_are_seen() -> None:
    """These tests reject keeping probabilities that are 5 % off and a noise scale that is 8 % off."""
    individual = FEW[1]
    tally, sizes = individual.one_by_one(CELLS)
    kept = keep_people(tally, individual.selection, sizes, SeededNoise(19))
    off = kept_law(individual.people, (0.21, 0.73, 1.0, 2.0), 1.0)
    with pytest.raises(AssertionError):
        assert_moments(kept, off)
    counts = sample(tally, individual.selection, sizes, 2, SeededNoise(19))
    with pytest.raises(AssertionError):
        assert_moments(counts, individual.law + laplace_law(2 / 1.08))
