"""The sample mechanism without its noise: probabilities, who is kept for certain, and which path is taken."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import exact_probability
from tests.support import FAST, ONE, Recorded, Silent, fixed

from wevent.cohorts.histogram import Domain, SlotReader, Tally
from wevent.cohorts.register import Register
from wevent.decisions.sampling import keep_people, keep_probabilities, sample
from wevent.decisions.selection import Selection
from wevent.events.slot import Slot
from wevent.noise import PROBABILITY_BITS, SecureNoise

CERTAIN = 2**PROBABILITY_BITS
Ints = npt.NDArray[np.int64]
fast = pytest.mark.parametrize("fast", FAST)
budget = st.one_of(st.integers(1, 1000), st.integers(1, 3 * ONE), st.integers(1, 100 * ONE))


@given(
    e=st.lists(st.one_of(st.just(0), budget), min_size=1, max_size=6),
    theta=budget,
    gaps=st.lists(st.integers(1, 3), max_size=2),
)
@settings(max_examples=300, deadline=None)
def test_probabilities_are_never_above_the_exact_ones(e: list[int], theta: int, gaps: list[int]) -> None:
    """At most expm1(e)/expm1(θ), and below it by less than 2⁻⁴² of it and one step of 2⁻⁶²."""
    budgets = [*e, *(max(theta - gap, 0) for gap in gaps), theta, theta + 1]
    for units, found in zip(budgets, keep_probabilities(np.array(budgets), theta).tolist(), strict=True):
        low, high = exact_probability(units, theta)
        assert Fraction(found, CERTAIN) <= low
        assert high - Fraction(found, CERTAIN) < high / 2**42 + Fraction(1, CERTAIN)


def test_probabilities_at_the_ends() -> None:
    """Certain from the threshold on, 0 for a budget of 0, and in order between."""
    budgets = np.array([0, 1, ONE - 1, ONE, ONE + 1, 100 * ONE])
    found = keep_probabilities(budgets, ONE)
    assert found[0] == 0
    assert (found[3:] == CERTAIN).all()
    assert (np.diff(found) >= 0).all()
    assert found[2] < CERTAIN


# Who is kept


def selection_of(budgets: list[int], threshold: int, least: int | None = None) -> Selection:
    """A threshold, and the least budget of any person if that is not the least of all rows."""
    least = min(budgets) if least is None else least
    return Selection(threshold, 0.0, 0.0, 0.0, least=least, budgets=np.array(budgets))


def tally_of(cells: Ints, rows: Ints, domain: int, fast: bool = False, many: int = 1) -> Tally:
    """People of given rows in given cells."""
    register = Register.from_levels([fixed(ONE, 2)], np.zeros(rows.size, np.int64))
    sizes = np.bincount(rows, minlength=many)
    return SlotReader(Domain(domain), 1, fast=fast).read(Slot(1, cells), register, rows, {}, sizes)


def counts_of(cells: Ints, rows: Ints, domain: int, fast: bool = False, many: int = 1) -> Tally:
    """The same people, given as counts per row and cell."""
    sizes = np.bincount(rows, minlength=many)
    counts = np.zeros((sizes.size, domain), np.int64)
    present = cells >= 0
    np.add.at(counts, (rows[present], cells[present]), 1)
    return SlotReader(Domain(domain), 1, fast=fast).read(Slot(1, counts=counts), Register(), rows, {}, sizes)


Make = Callable[..., Tally]
forms = pytest.mark.parametrize("make", [tally_of, counts_of])


@fast
@forms
@pytest.mark.parametrize("domain", [1, 5, 400])
def test_certain_people_cost_no_coin(make: Make, domain: int, fast: bool) -> None:
    """Where all people offer the threshold or more, the true counts are returned and nothing is drawn."""
    rng = np.random.default_rng(1)
    rows, cells = rng.integers(0, 3, 200), rng.integers(-1, domain, 200)
    noise = Recorded()
    tally = make(cells, rows, domain, fast)
    kept = keep_people(tally, selection_of([ONE, 2 * ONE, 3 * ONE], ONE), np.bincount(rows), noise)
    assert np.array_equal(kept, np.bincount(cells[cells >= 0], minlength=domain))
    assert noise.draws == []


@fast
@forms
@pytest.mark.parametrize("domain", [1, 5, 400])
@pytest.mark.parametrize("noise", [Recorded(3), SecureNoise()])
def test_people_without_budget_are_never_kept(
    make: Make, domain: int, noise: Recorded | SecureNoise, fast: bool
) -> None:
    """With budgets 0 and θ exactly the people at θ are left, in every cell."""
    rng = np.random.default_rng(2)
    rows, cells = rng.integers(0, 2, 300), rng.integers(-1, domain, 300)
    kept = keep_people(make(cells, rows, domain, fast), selection_of([0, ONE], ONE), np.bincount(rows), noise)
    certain = cells[(rows == 1) & (cells >= 0)]
    assert np.array_equal(kept, np.bincount(certain, minlength=domain))


@fast
@forms
@given(data=st.data())
@settings(deadline=None)
def test_no_person_is_invented(make: Make, fast: bool, data: st.DataObject) -> None:
    """At least the people who are certain and at most all people are kept, in every cell."""
    people, domain = data.draw(st.integers(1, 200)), data.draw(st.integers(1, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    budgets = data.draw(st.lists(st.integers(0, 3 * ONE), min_size=1, max_size=6))
    threshold = data.draw(st.integers(1, 3 * ONE))
    rows, cells = rng.integers(0, len(budgets), people), rng.integers(-1, domain, people)
    sizes = np.bincount(rows, minlength=len(budgets))
    tally = make(cells, rows, domain, fast, len(budgets))
    kept = keep_people(tally, selection_of(budgets, threshold), sizes, Recorded(people))
    present, certain = cells >= 0, np.array(budgets)[rows] >= threshold
    assert (kept <= np.bincount(cells[present], minlength=domain)).all()
    assert (kept >= np.bincount(cells[present & certain], minlength=domain)).all()


# Which path is taken


@fast
@given(seed=st.integers(0, 10**6), domain=st.integers(1, 40), people=st.integers(1, 400))
@settings(deadline=None)
def test_the_path_depends_on_nothing_private(fast: bool, seed: int, domain: int, people: int) -> None:
    """Full, empty or all in one cell: the same kind of draw for the same sizes and budgets."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, people)
    sizes, selection = np.bincount(rows, minlength=3), selection_of([5, ONE, 7], ONE)
    drawn = set()
    for cells in (rng.integers(-1, domain, people), np.full(people, -1), np.zeros(people, np.int64)):
        noise = Recorded()
        keep_people(tally_of(cells, rows, domain, fast), selection, sizes, noise)
        drawn.add(tuple(kind for kind, _, _ in noise.draws))
    assert len(drawn) == 1


@fast
def test_both_paths_are_taken(fast: bool) -> None:
    """A coin per person with few people per cell, a binomial draw per cell with many."""
    kinds = []
    for people, domain in ((50, 40), (5000, 4)):
        noise = Recorded()
        rows, cells = np.zeros(people, np.int64), np.arange(people) % domain
        keep_people(tally_of(cells, rows, domain, fast), selection_of([5], ONE), np.array([people]), noise)
        kinds.append([kind for kind, _, _ in noise.draws])
    assert kinds == [["bernoulli"], ["binomial"]]


@fast
@pytest.mark.parametrize("people", [3, 4000])
def test_a_group_takes_one_path_with_counts_or_without(people: int, fast: bool) -> None:
    """Whether a declared group has counts in a slot does not choose the path."""
    register = Register.from_rows({"user-0": fixed(ONE, 2)}).with_group("group-0", fixed(ONE, 2), people)
    sizes, rows = np.array([1, people]), np.array([0])
    drawn = set()
    for groups in ({"group-0": [2, 1, 0]}, {"group-0": [0, 0, 0]}, {}, None):
        noise = Recorded()
        slot = Slot(1, {"user-0": 1}, groups=groups)
        tally = SlotReader(Domain(3), 1, fast=fast).read(slot, register, rows, {"group-0": 1}, sizes)
        keep_people(tally, selection_of([5, 6], ONE), sizes, noise)
        drawn.add(tuple(kind for kind, _, _ in noise.draws))
    assert len(drawn) == 1


def test_empty_rows_are_not_sampled() -> None:
    """A row without members has no effect, however little it offers."""
    noise = Recorded()
    tally = tally_of(np.array([0, 1, 1]), np.array([1, 1, 1]), 2)
    kept = keep_people(tally, selection_of([0, ONE], ONE, least=ONE), np.array([0, 3]), noise)
    assert kept.tolist() == [1, 2]
    assert noise.draws == []


@pytest.mark.parametrize("sensitivity", [1, 2, 6])
def test_the_noise_gets_the_exact_threshold(sensitivity: int) -> None:
    """One draw for all cells, at exactly θ and the declared sensitivity."""
    noise = Silent()
    rows = np.zeros(4, np.int64)
    counts = sample(tally_of(np.array([0, 2, 2, -1]), rows, 3), selection_of([7], 7), np.array([4]), sensitivity, noise)
    assert counts.tolist() == [1, 0, 2]
    assert noise.draws == [("laplace", Fraction(7, ONE * sensitivity), 3)]
