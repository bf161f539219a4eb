"""Counts and contrast from one budget: no person pays more, the part is the best one, and a bias shows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decisions.exact_loss import draw, loss
from tests.support import Silent

from wevent.cohorts.histogram import RowTally
from wevent.decisions.contrasted import TENTHS, DividedSelection, PooledWithContrast
from wevent.decisions.evidence import Contrast, Evidence, Offers, PublicKnowledge
from wevent.decisions.pooled import Pooled
from wevent.decisions.selection import Selection
from wevent.releases.models.correction import BiasCorrection
from wevent.units import NANO

offers = st.lists(st.integers(0, 3 * NANO), min_size=1, max_size=6)
BUDGETS, SIZES = np.array([3, 5, 9]) * NANO // 10, np.array([200, 100, 300])
COUNTS = np.array([[90, 10, 3], [5, 40, 7], [0, 60, 200]])


def learned(bias: float, publications: int, people: int = 600) -> PublicKnowledge:
    """What is public after so many contrasts of counts with this relative bias."""
    random, correction, level = np.random.default_rng(1), BiasCorrection(3), np.full(3, people / 4)
    for slot in range(1, publications + 1):
        C = bias * 0.3 * level * 0.75
        contrast = Contrast(0.6 * level - 0.4 * C + random.normal(0, 5, 3), 25.0, 0.4)
        correction.correct(
            slot, Evidence(level + C + random.normal(0, 5, 3), np.full(3, 25.0), 0.3, contrast), level, people
        )
    return PublicKnowledge(level, correction.model())


@given(offers, st.integers(1, 9), st.floats(-1, 4), st.booleans())
@settings(deadline=None, max_examples=60)
def test_nobody_pays_more_than_they_offered(given_: list[int], tenths: int, offset: float, moved: bool) -> None:
    """Exact: whatever the part and the offset, |A|θ + |B|θ' is at most the budget, in whole numbers."""
    budgets, estimator = np.array(given_), PooledWithContrast()

    def change(chosen: Selection) -> Selection:
        assert isinstance(chosen, DividedSelection)
        if budgets.max() < 10:
            return chosen
        return replace(chosen, tenths=tenths, offset=offset, threshold=int(budgets.max()) * (10 - tenths) // 10)

    for row, offered in enumerate(given_):
        paid = loss(lambda counts, s: draw(estimator, counts, budgets, s, None, change), row, budgets.size, moved)
        assert paid <= Fraction(offered, NANO)


@pytest.mark.parametrize("tenths", [TENTHS, (1,), (4,), (9,)], ids=str)
@pytest.mark.parametrize("public", [None, learned(0.0, 300), learned(1.0, 5)], ids=["nothing", "no bias", "a bias"])
@given(offers)
@settings(deadline=None, max_examples=15)
def test_nobody_pays_more_than_they_offered_by_what_is_chosen(
    tenths: tuple[int, ...], public: PublicKnowledge | None, given_: list[int]
) -> None:
    """Exact, for the parts that are chosen from public values."""
    budgets = np.array(given_)
    for row, offered in enumerate(given_):
        paid = loss(
            lambda counts, s: draw(PooledWithContrast(tenths), counts, budgets, s, public), row, budgets.size, True
        )
        assert paid <= Fraction(offered, NANO)


def test_nearly_everything_is_used() -> None:
    """The strictest and the most lenient person lose more than 0.85 of what they offer by counts and contrast."""
    for row in (0, 2):
        paid = loss(lambda counts, s: draw(PooledWithContrast(), counts, BUDGETS, s, learned(1.0, 5)), row, 3, False)
        assert Fraction(85, 100) * int(BUDGETS[row]) <= paid * NANO <= int(BUDGETS[row])


def test_a_contrast_needs_a_budget_of_each_person() -> None:
    """If a person has no budget, or all budgets are alike, there is no contrast; counts are still made."""
    tally, sizes = RowTally(np.array([[3], [4]])), np.array([5, 5])
    for budgets, contrasted in (([NANO, 0], False), ([NANO, NANO], False), ([NANO, 2 * NANO], True)):
        estimator = PooledWithContrast()
        chosen = estimator.choose(np.array(budgets), sizes, 1, None)
        evidence = estimator.draw(tally, chosen, sizes, 1, Silent(1), None)
        assert (evidence.contrast is not None) == contrasted
        assert evidence.counts[0] > 0


@given(st.sampled_from(TENTHS), st.one_of(st.none(), st.floats(0, 1.5)))
@settings(deadline=None)
def test_a_contrast_shows_the_bias_of_pooling(tenths: int, offset: float | None) -> None:
    """Without noise, contrast and γ times the pooled counts are the true counts, wherever people are."""
    estimator, public = PooledWithContrast((tenths,)), learned(1.0, 5)
    chosen = estimator.choose(BUDGETS, SIZES, 1, public)
    assert isinstance(chosen, DividedSelection) and chosen.tenths == tenths
    if offset is not None:
        chosen = replace(chosen, offset=offset)
    evidence = estimator.draw(RowTally(COUNTS), chosen, SIZES, 1, Silent(1), public)
    assert evidence.contrast is not None and evidence.contrast.offset == chosen.offset
    corrected = evidence.contrast.counts + chosen.offset * evidence.counts
    assert corrected == pytest.approx(COUNTS.sum(axis=0), rel=1e-4, abs=0.05)
    assert abs(evidence.counts - COUNTS.sum(axis=0)).max() > 20


def test_leverage() -> None:
    """The mean square of how far weights are above their mean, in means."""
    estimator = PooledWithContrast((1,))
    evidence = estimator.draw(RowTally(COUNTS), estimator.choose(BUDGETS, SIZES, 1, None), SIZES, 1, Silent(1), None)
    weight = np.repeat(np.minimum(BUDGETS, estimator.choose(BUDGETS, SIZES, 1, None).threshold * 10 / 9), SIZES)
    assert evidence.leverage == pytest.approx(np.square(weight / weight.mean() - 1).mean(), rel=1e-3)


def chosen_for(public: PublicKnowledge | None, tenths: tuple[int, ...] = TENTHS) -> DividedSelection:
    chosen = PooledWithContrast(tenths).choose(BUDGETS, SIZES, 1, public)
    assert isinstance(chosen, DividedSelection)
    return chosen


def test_the_part_follows_the_bias() -> None:
    """More than a tenth while the bias may be large, a tenth once there is none, and six tenths at first."""
    assert chosen_for(None).tenths == 6
    assert chosen_for(learned(0.0, 2_000)).tenths == 1
    assert chosen_for(learned(2.0, 2)).tenths > 1
    assert chosen_for(learned(2.0, 2), (1,)).tenths == 1


@pytest.mark.parametrize("public", [learned(0.0, 300), learned(1.0, 5), learned(0.3, 40)])
def test_the_part_is_the_best_one(public: PublicKnowledge) -> None:
    """No fixed part has a better forecast by the measure that it is chosen by."""
    offer = Offers(BUDGETS[None], np.ones(1))

    def measure(tenths: tuple[int, ...]) -> float:
        expected = PooledWithContrast(tenths).forecast(offer, SIZES, 1, public)
        return float(0.5 * expected.noise[0] + expected.bias[0])

    assert measure(TENTHS) == pytest.approx(min(measure((tenths,)) for tenths in TENTHS), rel=1e-12)


@given(st.lists(offers, min_size=1, max_size=4).filter(lambda rows: len({len(row) for row in rows}) == 1))
@pytest.mark.parametrize("public", [None, learned(0.0, 300), learned(1.0, 5)], ids=["nothing", "no bias", "a bias"])
@settings(deadline=None, max_examples=40)
def test_the_forecast_error_is_that_of_the_choice(public: PublicKnowledge | None, rows: list[list[int]]) -> None:
    """At the pace of the last publications, `forecast` gives the error of `choose`, offer by offer."""
    budgets = np.array(rows)
    sizes = np.arange(1, budgets.shape[1] + 1)
    one_by_one = [PooledWithContrast().choose(offer, sizes, 1, public).error for offer in budgets]
    expected = PooledWithContrast().forecast(Offers(budgets, np.ones(len(rows))), sizes, 1, public)
    assert expected.noise + expected.bias == pytest.approx(one_by_one, rel=1e-6)


@pytest.mark.parametrize("budget", [NANO, NANO // 7])
def test_equal_budgets_have_no_bias(budget: int) -> None:
    """The forecast for equal budgets is the noise of nine tenths of them, and no bias."""
    public, budgets = learned(1.0, 5), np.full(3, budget)
    expected = PooledWithContrast().forecast(Offers(budgets[None], np.ones(1)), SIZES, 1, public)
    assert expected.noise == pytest.approx([2 * (NANO / (0.9 * budget)) ** 2]) and not expected.bias.any()
    assert PooledWithContrast().choose(budgets, SIZES, 1, public).error == pytest.approx(expected.noise[0])


def test_many_rows_are_forecast_one_by_one() -> None:
    """With more rows than are sorted at once, the forecast is the same, up to the rounding of budgets."""
    random, public = np.random.default_rng(2), learned(0.3, 20)
    budgets = random.integers(NANO // 10, NANO, 5_000)
    sizes, gap = np.ones(5_000, np.int64), np.ones(1)
    many = PooledWithContrast().forecast(Offers(budgets[None], gap), sizes, 1, public)
    few = PooledWithContrast().forecast(Offers(budgets[None, :4_000], gap), sizes[:4_000], 1, public)
    assert many.noise + many.bias == pytest.approx(few.noise + few.bias, rel=0.1)


def test_without_a_bias_a_tenth_of_the_budget_is_lost() -> None:
    """Once there certainly is no bias, the forecast is the noise of nine tenths of the budget, or less."""
    public, offer = learned(0.0, 3_000), Offers(BUDGETS[None], np.ones(1))
    uncorrected, corrected = (
        float(estimator.forecast(offer, SIZES, 1, public).noise[0]) for estimator in (Pooled(), PooledWithContrast())
    )
    assert corrected < uncorrected / 0.81 * 1.05
