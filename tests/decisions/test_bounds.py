"""Bounds against values by hand and a brute-force selection; they are monotone, and their total covers skips."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decisions.naive_bounds import INF, SLACK, Floats, cohorts, least_error

from wevent.decisions.bounds import (
    ErrorBound,
    absorption_bound,
    distribution_bound,
    dynamic_absorption_bound,
    dynamic_distribution_bound,
    sampling_bound,
)


def test_lemma_golden() -> None:
    """The lemma is the smaller of keeping all people and keeping those with the largest budget."""
    assert (
        sampling_bound([0.5, 1, 2], [3, 2, 4])
        == float(min(Fraction(2) / Fraction(1, 4), 5 * Fraction(21, 4) + Fraction(2, 4)))
        == 8
    )
    assert sampling_bound([0.125, 1], [1, 9]) == float(min(Fraction(2) * 64, Fraction(5, 4) + 2)) == 3.25
    assert sampling_bound([0.125, 1], [1, 9], sensitivity=2) == float(min(Fraction(8) * 64, Fraction(5, 4) + 8)) == 9.25


def test_lemma_covers_the_golden_choice() -> None:
    """The golden OBS case of SPEC §3 errs by 15.308424; the lemma allows it 7·7.25 + 2/0.64."""
    budgets, sizes = np.array([0.1, 0.4, 0.8]), np.array([2, 5, 3])
    assert least_error(budgets, sizes) == pytest.approx(15.308424, abs=1e-6)
    assert sampling_bound(budgets, sizes) == pytest.approx(float(7 * Fraction(29, 4) + Fraction(2) / Fraction(64, 100)))


def test_lemma_is_never_exceeded() -> None:
    """Over 4000 random sets of budgets, OBS never errs by more than the lemma says."""
    rng = np.random.default_rng(1)
    for _ in range(4000):
        m = int(rng.integers(1, 7))
        budgets, sizes = np.exp(rng.uniform(-4, 2, m)), 10 ** rng.integers(0, 6, m)
        s = int(rng.integers(1, 4))
        assert least_error(budgets, sizes, s) <= sampling_bound(budgets, sizes, s) * SLACK


def test_lemma_covers_larger_budgets() -> None:
    """The lemma of some budgets also bounds OBS for budgets that are nowhere lower, with cohorts divided."""
    rng = np.random.default_rng(2)
    for _ in range(2000):
        m = int(rng.integers(1, 4))
        budgets, sizes = np.exp(rng.uniform(-4, 1, m)), rng.integers(1, 30, m)
        raised = np.repeat(budgets, sizes)
        raised *= np.where(rng.random(raised.size) < 0.5, 1, np.exp(rng.uniform(0, 3, raised.size)))
        assert least_error(raised, np.ones(raised.size, np.int64)) <= sampling_bound(budgets, sizes) * SLACK


def test_equal_shares_count_as_equal_despite_rounding() -> None:
    """0.3/3 and 0.1/1 differ as doubles; they are one share, and no person is lost."""
    bound = distribution_bound([0.3, 0.1, 1e-6], [3, 1, 1], [50, 50, 1], cells=1, publications=1)
    assert bound.publication == pytest.approx(1.25 + 32 / 0.01, rel=1e-9)


# Golden values and special cases


def test_distribution_golden() -> None:
    """PBD by hand: E = 1, 2, w = 2, 1, 3 and 5 users, 4 cells, two publications."""
    bound = distribution_bound([1, 2], [2, 1], [3, 5], cells=4, publications=2)
    step = Fraction(32 * (4**2 - 1), 3 * 2)
    assert bound.change == float(min(Fraction(8, 16) / Fraction(1, 4), Fraction(39, 4) + Fraction(8, 16) / 4)) == 2
    assert bound.publication == float(min(step / Fraction(1, 4), Fraction(39, 4) + step / 4)) == 29.75


def test_absorption_golden() -> None:
    """PBA by hand: shares 1 and 1/2, two skipped slots, hence one nullified (the largest window is 2)."""
    bound = absorption_bound([2, 2], [1, 2], [1, 2], cells=1, skipped=2, nullified_error=3)
    slots = [min(Fraction(8), 2 * Fraction(9, 4) + 2), Fraction(2), Fraction(2)]
    assert bound.change == 6.5
    assert bound.publication == float((sum(slots) + 3) / 4) == 3.375


def test_absorption_averages_between_whole_numbers() -> None:
    """With α = 1.5 the third slot of a cycle counts half."""
    bound = absorption_bound([2], [8], [1], cells=1, skipped=1.5, nullified=2, nullified_error=1)
    a = Fraction(1, 8)
    assert bound.publication == pytest.approx(
        float((2 / a**2 * (1 + Fraction(1, 4) + Fraction(1, 2) / 9) + 2) / Fraction(9, 2)), rel=1e-12
    )


def test_dynamic_distribution_golden() -> None:
    """DPBD by hand: R = 2, 3/2, 1 (at most 1/2 per publication), so R/2 = 1/2."""
    bound = dynamic_distribution_bound([4], [1], [0.5], [0.5], [9], cells=2, publications=2)
    assert bound.publication == float(2 / Fraction(1, 2) ** 2) == 8
    assert bound.change == float(Fraction(2, 4) / Fraction(1, 2) ** 2) == 2
    halved = dynamic_distribution_bound([4], [1], [0.5], [1], [9], cells=2, publications=2)
    assert halved.publication == float(2 / Fraction(1, 4) ** 2) == 32
    free = dynamic_distribution_bound([4], [1], [INF], [INF], [9], cells=2, publications=2)
    assert free.publication == float(2 / Fraction(1, 4) ** 2) == 32


def test_dynamic_absorption_golden() -> None:
    """DPBA by hand: offers 1/4 (forward windows leave no more), 1/2 (one share), 3/4 (backward)."""
    bound = dynamic_absorption_bound(
        [0.5], [2], [0.75], [0.25], [7], cells=1, skipped=2, nullified=1, nullified_error=2
    )
    assert bound.publication == pytest.approx(float((32 + 8 + Fraction(32, 9) + 2) / 4), rel=1e-12)
    assert bound.change == 8


def test_one_requirement_is_ordinary_dp() -> None:
    """If all people require the same, none is lost: each bound is the noise of ordinary DP, for any n."""
    for n in (1, 1000):
        sizes = [n, n, n]
        assert sampling_bound([0.5] * 3, sizes) == 2 / 0.25
        d = distribution_bound([2] * 3, [2] * 3, sizes, cells=1, publications=1)
        assert (d.change, d.publication) == (2 / 0.25, 32)
        a = absorption_bound([2] * 3, [2] * 3, sizes, cells=1, skipped=0, nullified_error=0)
        assert (a.change, a.publication) == (2 / 0.25, 2 / 0.25)


def test_fixed_is_a_special_case_of_dynamic() -> None:
    """If nothing backward binds, DPBA's bound is PBA's; if windows exceed ŝ, DPBD's is at most PBD's."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        e, w, n = cohorts(rng)
        free = [INF] * n.size
        alpha, s = int(rng.integers(0, 9)), int(rng.integers(1, 6))
        rest = min(alpha, int(w.max()) - 1)
        fixed = absorption_bound(e, w, n, cells=3, skipped=alpha, nullified_error=5)
        dynamic = dynamic_absorption_bound(
            e / (2 * w), w, free, free, n, cells=3, skipped=alpha, nullified=rest, nullified_error=5
        )
        assert fixed == dynamic
        loose = distribution_bound(e, w + s, n, cells=3, publications=s)
        tight = dynamic_distribution_bound(e, e / (2 * (w + s)), free, free, n, cells=3, publications=s)
        assert tight.publication <= loose.publication * SLACK
        assert tight.change == pytest.approx(loose.change)


def test_extremes_are_infinite_not_errors() -> None:
    """Bounds that no double holds are infinite."""
    assert sampling_bound([1e-200], [1]) == INF
    assert sampling_bound([1e-200, 1], [1, 1]) == 3.25
    assert distribution_bound([1], [1], [1], cells=1, publications=2000).total == INF
    assert dynamic_distribution_bound([1], [1], [1], [INF], [1], cells=1, publications=2000).total == INF
    unknown = dynamic_absorption_bound([1], [2], [1], [0], [1], cells=1, skipped=1, nullified=0, nullified_error=0)
    assert unknown.publication == INF


# Monotone

budgets_ = st.floats(0.01, 20)
scale_ = st.floats(1, 50)


@given(st.lists(st.tuples(budgets_, st.integers(1, 9), st.integers(1, 10**6)), min_size=1, max_size=5), scale_)
def test_more_budget_for_all_never_hurts(rows: list[tuple[float, int, int]], factor: float) -> None:
    """Multiplying every budget by the same factor, at least 1, raises no bound."""
    e, w, n = (np.array(column) for column in zip(*rows, strict=True))
    free = np.full(n.size, INF)
    both: list[Callable[[Floats], ErrorBound]] = [
        lambda x: distribution_bound(x, w, n, cells=3, publications=3),
        lambda x: absorption_bound(x, w, n, cells=3, skipped=4, nullified_error=1),
        lambda x: dynamic_distribution_bound(x, x / (2 * w), x / 8, x / 4, n, cells=3, publications=3),
        lambda x: dynamic_absorption_bound(
            x / (2 * w), w, x / 4, free, n, cells=3, skipped=4, nullified=2, nullified_error=1
        ),
        lambda x: ErrorBound(0, sampling_bound(x, n)),
    ]
    for bound in both:
        before, after = bound(e), bound(e * factor)
        assert after.change <= before.change * SLACK
        assert after.publication <= before.publication * SLACK
        assert after.total <= before.total * SLACK


@given(
    st.lists(st.tuples(budgets_, st.integers(1, 9), st.integers(1, 10**6), scale_), min_size=1, max_size=5),
    st.floats(0, 12),
)
def test_more_budget_for_any_person_never_hurts_publications(
    rows: list[tuple[float, int, int, float]], skipped: float
) -> None:
    """For PBA, DPBD and DPBA, raising any budgets at all never raises the publication part."""
    e, w, n, factor = (np.array(column) for column in zip(*rows, strict=True))
    more, free = e * factor, np.full(n.size, INF)

    def bounds(x: Floats) -> list[float]:
        a = absorption_bound(x, w, n, cells=1, skipped=skipped, nullified=1, nullified_error=0)
        b = dynamic_distribution_bound(x, x, x / 8, free, n, cells=1, publications=2)
        c = dynamic_absorption_bound(x, w, x * 2, x / 3, n, cells=1, skipped=skipped, nullified=1, nullified_error=0)
        return [a.publication, b.publication, c.publication]

    assert all(after <= before * SLACK for before, after in zip(bounds(e), bounds(more), strict=True))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 10**6))
def test_more_publications_and_fewer_cells_cost_more(s: int, d: int, n: int) -> None:
    """PBD and DPBD grow with the number of publications; the change part falls with the number of cells."""
    e, w, sizes, free = [1.0, 3.0], [4, 2], [n, 7], [INF, INF]
    less, more = (distribution_bound(e, w, sizes, cells=c, publications=k) for c, k in ((d + 1, s), (d, s + 1)))
    assert less.publication <= more.publication
    assert less.change <= more.change
    less, more = (dynamic_distribution_bound(e, [1, 1], free, free, sizes, cells=d, publications=k) for k in (s, s + 1))
    assert less.publication <= more.publication


# The parts and their total


def test_adding_the_parts_is_not_enough() -> None:
    """A slot whose change is just above the threshold errs by more than the sum of the parts (d = 20).

    Exact for Laplace noise of scale b in the measurement: a change √p + b is skipped with probability 1/(2e).
    """
    bound = absorption_bound([2], [1], [1], cells=20, skipped=0, nullified_error=0)
    b = math.sqrt(bound.change / 2)
    skip = 0.5 * math.exp(-1)
    error = skip * (math.sqrt(bound.publication) + b) ** 2 + (1 - skip) * bound.publication
    assert bound.change + bound.publication < error < bound.total


def test_a_skip_keeps_the_total() -> None:
    """A slot's error, skipped or published, stays below the total for any change (10⁵ draws each, seeded)."""
    rng = np.random.default_rng(4)
    for c, p in ((1.0, 0.01), (1.0, 1.0), (0.01, 1.0)):
        noise = rng.laplace(0, math.sqrt(c / 2), 100_000)
        for change in np.linspace(0, 6, 25):
            error = np.where(change + noise > math.sqrt(p), p, change**2).mean()
            assert error < ErrorBound(c, p).total
