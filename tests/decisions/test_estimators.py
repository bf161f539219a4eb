"""Estimators: nobody pays more than they offered, thresholds are the best ones, counts are right in the mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.exact_loss import draw, loss
from tests.support import Silent

from wevent.cohorts.histogram import RowTally
from wevent.decisions.contrasted import PooledWithContrast
from wevent.decisions.estimators import Sampled, Unbiased
from wevent.decisions.evidence import Offers, PublicKnowledge
from wevent.decisions.pooled import Pooled
from wevent.decisions.selection import WORST, expected
from wevent.units import NANO

WEIGHING: list[Any] = [Unbiased, Pooled, PooledWithContrast]
ALL: list[Any] = [Sampled, *WEIGHING]
offers = st.lists(st.integers(0, 3 * NANO), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", WEIGHING)
@pytest.mark.parametrize("moved", [False, True], ids=["present or absent", "one cell or another"])
@given(offers)
@settings(deadline=None, max_examples=60)
def test_nobody_pays_more_than_they_offered(kind: Any, moved: bool, given_: list[int]) -> None:
    """Exact: what one person moves, times its price, in sum over all draws, is at most their budget."""
    budgets = np.array(given_)
    for row, offered in enumerate(given_):
        assert loss(lambda counts, s: draw(kind(), counts, budgets, s), row, budgets.size, moved) <= Fraction(
            offered, NANO
        )


@pytest.mark.parametrize("kind", ALL)
@given(st.lists(offers, min_size=1, max_size=4).filter(lambda rows: len({len(row) for row in rows}) == 1))
@settings(deadline=None, max_examples=60)
def test_the_forecast_error_is_that_of_the_choice(kind: Any, rows: list[list[int]]) -> None:
    """`forecast` gives the error of `choose`, offer by offer."""
    budgets, public = np.array(rows), PublicKnowledge(np.array([5.0, 0.0, 2.0]))
    sizes = np.arange(1, budgets.shape[1] + 1)
    one_by_one = [kind().choose(offer, sizes, 1, public).error for offer in budgets]
    expected = kind().forecast(Offers(budgets, np.ones(len(rows))), sizes, 1, public)
    assert expected.noise == pytest.approx(one_by_one, rel=1e-9)
    assert not expected.bias.any()


@given(offers)
@settings(deadline=None)
def test_unbiased_takes_the_least(given_: list[int]) -> None:
    """All people count in full at the least budget; nothing is published if anybody has none left."""
    chosen = Unbiased().choose(np.array([*given_, 0]), np.array([1] * len(given_) + [0]), 1, None)
    assert chosen.threshold == min(given_)
    assert chosen.variance == chosen.squared_bias == 0


def test_pooled_has_the_noise_of_the_mean_budget() -> None:
    """Half require 0.1 and half 1.9, spread over very many cells: the noise is that of a budget of 1."""
    budgets, sizes = np.array([NANO // 10, 19 * NANO // 10]), np.array([500, 500])
    chosen = Pooled().choose(budgets, sizes, 1, PublicKnowledge(np.zeros(100)))
    assert chosen.threshold == budgets[1]
    assert chosen.noise == pytest.approx(2.0)
    evidence = Pooled().draw(RowTally(np.array([[100, 0], [100, 50]])), chosen, sizes, 1, Silent(1), None)
    assert evidence.counts == pytest.approx([200, 95], rel=1e-6)  # 1000/526.3 · (5.26 + 100), and of 50


def test_a_few_lenient_people_do_not_outvote_all() -> None:
    """One person of a thousand who offers a hundred times as much does not set the cap."""
    budgets, sizes = np.array([NANO // 100, NANO]), np.array([999, 1])
    assert Pooled().choose(budgets, sizes, 1, PublicKnowledge(np.zeros(5))).threshold == NANO // 100


def test_pooled_says_nothing_about_a_bias() -> None:
    """Its evidence has no leverage: error bars are those of its assumption, and no correction follows."""
    budgets, sizes = np.array([NANO // 10, NANO]), np.array([50, 50])
    chosen = Pooled().choose(budgets, sizes, 1, None)
    assert Pooled().draw(RowTally(np.ones((2, 3), np.int64)), chosen, sizes, 1, Silent(1), None).leverage == 0


@given(st.lists(st.integers(1, 3 * NANO), min_size=1, max_size=6), st.floats(0, 1))
@settings(deadline=None)
def test_pooled_takes_the_best_cap(given_: list[int], share: float) -> None:
    """The error is the least over all caps that a tenth of all people offer, computed person by person."""
    budgets, sizes = np.array(given_), np.arange(1, len(given_) + 1)
    public = PublicKnowledge(np.array([share * sizes.sum(), 0.0]))
    e = np.repeat(budgets, sizes) / NANO
    errors = []
    for cap in sorted(set(e.tolist())):
        if (e >= cap).mean() >= 0.1:
            weight = np.minimum(e, cap) / np.minimum(e, cap).mean()
            errors.append(
                2 * (1 / np.minimum(e, cap).mean()) ** 2 + ((weight - 1) ** 2).sum() * share * (1 - share) / 2
            )
    assert Pooled().choose(budgets, sizes, 1, public).error == pytest.approx(min(errors), rel=1e-6)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=50))
def test_expected_concentration(public: list[int]) -> None:
    """The concentration expected from released counts is never worse than all lost people in one cell."""
    concentration = expected(np.array(public, np.float64), 1000)
    assert 0 <= concentration.squared_bias <= concentration.variance <= 1
    assert expected(None, 1000) == WORST


def test_selection_that_uses_public_counts() -> None:
    """At d = 100 with even counts the expected squared bias is 10⁻⁴ of the worst, and less noise is chosen."""
    budgets, sizes = np.array([NANO // 50, NANO]), np.array([200, 9_800])
    public = PublicKnowledge(np.full(100, 100.0))
    informed = Sampled(expected).choose(budgets, sizes, 1, public)
    careful = Sampled().choose(budgets, sizes, 1, public)
    assert careful.threshold == budgets[0] and informed.threshold == budgets[1]
    assert informed.concentration.squared_bias == pytest.approx(1e-4)
    assert informed.error < careful.error / 100
