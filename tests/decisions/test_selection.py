"""Optimal budget selection: the golden numbers, the oracle, and very many budgets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracle import oracle_error, oracle_obs
from tests.support import FAST, ONE, units

from wevent.decisions import selection
from wevent.decisions.selection import MOST_DISTINCT, Selection, _losses, choose_threshold, floor_to_steps, step_bits
from wevent.units import NANO, Units

fast = pytest.mark.parametrize("fast", FAST)
sizes_of = st.integers(0, 40)
budget = st.one_of(st.just(0), st.integers(1, 50), st.integers(10**8, 3 * ONE), st.integers(1, 100 * ONE))
near = st.integers(ONE - 3, ONE + 3)


def choose(pairs: list[tuple[int, int]], sensitivity: int, fast: bool = False) -> Selection:
    budgets, sizes = np.array(pairs, np.int64).reshape(-1, 2).T
    return choose_threshold(budgets, sizes, sensitivity, fast=fast)


def test_golden() -> None:
    """SPEC §3: budgets 0.1×2, 0.4×5, 0.8×3 have errors 200, 15.308424 and 27.733024; the threshold is 0.4."""
    values, people = np.array([units("0.1"), units("0.4"), units("0.8")]), np.array([2, 5, 3])
    variance, squared_bias = _losses(values, people)
    errors = variance + squared_bias + 2 / (values / NANO) ** 2
    assert [round(error, 6) for error in errors.tolist()] == [200, 15.308424, 27.733024]
    chosen = choose_threshold(values, people, 1)
    assert chosen.threshold == units("0.4")
    assert round(chosen.error, 6) == 15.308424
    assert chosen.noise == pytest.approx(12.5)


@fast
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("budgets", [budget, near], ids=["any", "clustered"])
@given(data=st.data())
@settings(deadline=None)
def test_selection_agrees_with_the_oracle(
    budgets: st.SearchStrategy[int], sensitivity: int, fast: bool, data: st.DataObject
) -> None:
    """The error is the least, and its three parts are exact to 1e-9, also for budgets one unit apart."""
    pairs = data.draw(st.lists(st.tuples(budgets, sizes_of), min_size=1, max_size=7))
    chosen, best = choose(pairs, sensitivity, fast), oracle_obs(pairs, sensitivity)
    if best is None:
        assert chosen.threshold == 0
        assert math.isinf(chosen.error)
        return
    assert chosen.threshold in {units for units, people in pairs if people}
    assert chosen.error == pytest.approx(float(best.error), rel=1e-9)
    exact = oracle_error(chosen.threshold, pairs, sensitivity)
    assert chosen.variance == pytest.approx(float(exact.variance), rel=1e-9, abs=0)
    assert chosen.squared_bias == pytest.approx(float(exact.squared_bias), rel=1e-9, abs=0)
    assert chosen.noise == pytest.approx(float(exact.noise), rel=1e-9, abs=0)


@given(pairs=st.lists(st.tuples(budget, sizes_of), min_size=1, max_size=12), data=st.data())
@settings(deadline=None)
def test_only_how_many_have_which_budget_matters(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """The order of rows and how equal budgets are split over them change nothing."""
    split = [(e, part) for e, n in pairs for part in (n // 2, n - n // 2)]
    together, apart = choose(pairs, 1), choose(data.draw(st.permutations(split)), 1)
    assert together.threshold == apart.threshold
    assert together.error == apart.error


def test_the_smallest_threshold_wins_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thresholds of exactly the same error, noise 2 + 0 and 0.5 + 1.5: the lower one is taken."""
    monkeypatch.setattr(selection, "_losses", lambda values, people: (np.array([0.0, 1.5]), np.zeros(2)))
    chosen = choose([(2 * ONE, 1), (ONE, 1), *[(5, 0)] * 60], 1)  # many rows, so that arrays are used
    assert (chosen.threshold, chosen.error) == (ONE, 2.0)


@given(
    pairs=st.lists(
        st.tuples(st.one_of(st.integers(0, 40), st.integers(1, 10 * ONE)), st.integers(0, 1_000)),
        min_size=1,
        max_size=40,
    ),
    sensitivity=st.integers(1, 4),
)
def test_python_numbers_and_arrays_choose_alike(pairs: list[tuple[int, int]], sensitivity: int) -> None:
    """Few rows are scanned in Python numbers: the same error and parts as with arrays."""
    few, many = choose(pairs, sensitivity), choose([*pairs, *[(7, 0)] * 60], sensitivity)
    assert few.error == pytest.approx(many.error, rel=1e-9)
    if few.threshold == many.threshold:  # else a tie within rounding
        assert (few.variance, few.squared_bias, few.least) == pytest.approx(
            (many.variance, many.squared_bias, many.least), rel=1e-9
        )


def test_nobody_has_any_budget() -> None:
    """No positive budget, or none that anybody has: threshold 0 and an infinite error."""
    for pairs in ([(0, 5)], [(ONE, 0)], [(0, 2), (ONE, 0)], []):
        chosen = choose(pairs, 1)
        assert chosen.threshold == 0
        assert math.isinf(chosen.error)


def test_budget_0_counts_as_lost() -> None:
    """Three people without budget: squared bias 9, no variance."""
    chosen = choose([(0, 3), (ONE, 4)], 2)
    assert (chosen.threshold, chosen.variance) == (ONE, 0.0)
    assert chosen.squared_bias == pytest.approx(9)
    assert chosen.noise == pytest.approx(8)


def test_the_repr_shows_no_budgets_of_rows() -> None:
    """Budgets of rows are in no repr and in no comparison."""
    first, second = choose([(ONE, 1), (3, 0)], 1), choose([(ONE, 1), (7, 0)], 1)
    assert first == second
    assert "budgets" not in repr(first)


# More budgets than are compared one by one


def brute(budgets: Units, sizes: Units) -> float:
    """The least error over all positive budgets, every threshold by itself."""
    e = budgets / NANO
    errors = []
    for theta in np.unique(budgets[(budgets > 0) & (sizes > 0)]) / NANO:
        lower = e < theta
        p = np.expm1(e[lower]) / np.expm1(theta)
        lost = float((sizes[lower] * (1 - p)).sum())
        errors.append(float((sizes[lower] * p * (1 - p)).sum()) + lost**2 + 2 / theta**2)
    return float(min(errors))


@fast
@pytest.mark.parametrize("rows", [MOST_DISTINCT, MOST_DISTINCT + 1, 3000, 20_000])
@pytest.mark.parametrize("spread", ["one octave", "all", "with zeros"])
def test_very_many_budgets(rows: int, spread: str, fast: bool) -> None:
    """Up to 1024 different ones are taken as they are, more are rounded down; the error is still least."""
    rng = np.random.default_rng(rows)
    if spread == "one octave":
        budgets = 2**30 + rng.choice(2**30, rows, replace=False)
    else:
        budgets = np.unique(np.exp(rng.uniform(0, math.log(100 * ONE), 2 * rows)).astype(np.int64))[:rows]
        budgets = rng.permutation(np.resize(budgets, rows))
    if spread == "with zeros":
        budgets[::7] = 0
    sizes = rng.integers(0, 3, rows)
    chosen = choose_threshold(budgets, sizes, 1, fast=fast)
    registered = sizes > 0
    positive = budgets[registered & (budgets > 0)]
    steps = chosen.budgets
    if np.unique(budgets[registered]).size <= MOST_DISTINCT:
        assert np.array_equal(steps[registered], budgets[registered])
    elif chosen.threshold <= chosen.least:  # all people are kept, so that no budget had to be rounded
        steps = floor_to_steps(budgets, step_bits(int(positive.min()), int(positive.max())))
    used = steps[registered]
    assert (used <= budgets[registered]).all()
    assert ((used == 0) == (budgets[registered] == 0)).all()
    assert np.unique(used[used > 0]).size <= MOST_DISTINCT
    assert chosen.error == pytest.approx(brute(steps, sizes), rel=1e-9)
    assert chosen.threshold in set(used.tolist())


@given(low=st.integers(1, 37), high=st.integers(1, 37), seed=st.integers(0, 2**32 - 1), zeros=st.integers(0, 3))
@settings(deadline=None)
def test_steps(low: int, high: int, seed: int, zeros: int) -> None:
    """Never above the budget, never below it by more than one part in 2^bits, at most 1024 positive steps."""
    least, most = 2 ** (min(low, high) - 1), min(2 ** max(low, high), 100 * ONE)
    assume(least < most)
    rng = np.random.default_rng(seed)
    logs = rng.uniform(math.log(least), math.log(most), 5000)
    unbounded = np.concatenate([np.exp(logs).astype(np.int64), [least, most, most - 1], np.zeros(zeros, np.int64)])
    budgets = np.clip(unbounded, 0, most)
    budgets[budgets > 0] = np.maximum(budgets[budgets > 0], least)
    bits = step_bits(least, most)
    steps = floor_to_steps(budgets, bits)
    assert (steps <= budgets).all()
    assert ((budgets - steps).astype(object) * 2**bits <= budgets.astype(object)).all()
    assert np.unique(steps[steps > 0]).size <= MOST_DISTINCT
    assert np.array_equal(floor_to_steps(steps, bits), steps)


def test_all_steps_of_all_octaves() -> None:
    """Even if every number between two powers of two is a budget, 1024 steps are left."""
    budgets = np.arange(2**12, 2**16)
    assert np.unique(floor_to_steps(budgets, step_bits(int(budgets[0]), int(budgets[-1])))).size <= MOST_DISTINCT
    budgets = np.arange(2**20, 2**21)
    assert np.unique(floor_to_steps(budgets, step_bits(int(budgets[0]), int(budgets[-1])))).size == MOST_DISTINCT
