"""Bounds against values by hand, a brute-force OBS, and schedules straight from SPEC §5 and §6."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wevent.decisions.bounds import (
    Bound,
    absorption_bound,
    distribution_bound,
    dynamic_absorption_bound,
    dynamic_distribution_bound,
    sampling_bound,
)
from wevent.errors import InvalidSetting

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
INF = math.inf
SLACK = 1 + 1e-9
"""Rounding of doubles; every comparison below is otherwise exact."""


def obs(budgets: Floats, sizes: Whole, sensitivity: float = 1) -> float:
    """SPEC §3, threshold by threshold; users without budget are lost."""
    errors = [INF]
    for threshold in {float(e) for e in budgets if e > 0}:
        below = budgets < threshold
        p = np.expm1(budgets[below]) / np.expm1(threshold)
        n = sizes[below]
        errors.append(float((n * p * (1 - p)).sum() + (n * (1 - p)).sum() ** 2 + 2 * (sensitivity / threshold) ** 2))
    return min(errors)


def cohorts(rng: np.random.Generator, most: int = 5) -> tuple[Floats, Whole, Whole]:
    """Random epsilons, windows and sizes."""
    m = int(rng.integers(1, most + 1))
    return rng.uniform(0.2, 5, m), rng.integers(1, 7, m), 10 ** rng.integers(0, 5, m)


# The lemma


def test_lemma_golden() -> None:
    """The lemma is the smaller of keeping everybody and keeping those with the largest budget."""
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
    assert obs(budgets, sizes) == pytest.approx(15.308424, abs=1e-6)
    assert sampling_bound(budgets, sizes) == pytest.approx(float(7 * Fraction(29, 4) + Fraction(2) / Fraction(64, 100)))


def test_lemma_is_never_exceeded() -> None:
    """Over 4000 random sets of budgets, OBS never errs by more than the lemma says."""
    rng = np.random.default_rng(1)
    for _ in range(4000):
        m = int(rng.integers(1, 7))
        budgets, sizes = np.exp(rng.uniform(-4, 2, m)), 10 ** rng.integers(0, 6, m)
        s = int(rng.integers(1, 4))
        assert obs(budgets, sizes, s) <= sampling_bound(budgets, sizes, s) * SLACK


def test_lemma_covers_larger_budgets() -> None:
    """The lemma of some budgets also bounds OBS for budgets that are nowhere lower, cohorts torn apart."""
    rng = np.random.default_rng(2)
    for _ in range(2000):
        m = int(rng.integers(1, 4))
        budgets, sizes = np.exp(rng.uniform(-4, 1, m)), rng.integers(1, 30, m)
        raised = np.repeat(budgets, sizes)
        raised *= np.where(rng.random(raised.size) < 0.5, 1, np.exp(rng.uniform(0, 3, raised.size)))
        assert obs(raised, np.ones(raised.size, np.int64)) <= sampling_bound(budgets, sizes) * SLACK


def test_equal_shares_count_as_equal_despite_rounding() -> None:
    """0.3/3 and 0.1/1 differ as doubles; they are one share, and nobody is lost."""
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


def test_one_requirement_is_plain_dp() -> None:
    """If all ask for the same, nobody is lost: each bound is the noise of plain DP, for any n."""
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
    both: list[Callable[[Floats], Bound]] = [
        lambda x: distribution_bound(x, w, n, cells=3, publications=3),
        lambda x: absorption_bound(x, w, n, cells=3, skipped=4, nullified_error=1),
        lambda x: dynamic_distribution_bound(x, x / (2 * w), x / 8, x / 4, n, cells=3, publications=3),
        lambda x: dynamic_absorption_bound(
            x / (2 * w), w, x / 4, free, n, cells=3, skipped=4, nullified=2, nullified_error=1
        ),
        lambda x: Bound(0, sampling_bound(x, n)),
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
def test_more_budget_for_anybody_never_hurts_publications(
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


# Refusals


@pytest.mark.parametrize("wrong", [[], [1.0], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [1.0, INF], [[1.0, 1.0]]])
def test_bad_columns_are_refused(wrong: list[float]) -> None:
    """A column of the wrong shape, or with anything but positive finite numbers, is an InvalidSetting."""
    fine, sizes = [1.0, 2.0], [3, 4]
    calls: list[Callable[[], object]] = [
        lambda: sampling_bound(wrong, sizes),
        lambda: sampling_bound(fine, wrong),
        lambda: distribution_bound(wrong, [1, 2], sizes, cells=1, publications=1),
        lambda: distribution_bound(fine, wrong, sizes, cells=1, publications=1),
        lambda: absorption_bound(wrong, [1, 2], sizes, cells=1, skipped=1, nullified_error=0),
        lambda: dynamic_distribution_bound(wrong, fine, fine, fine, sizes, cells=1, publications=1),
        lambda: dynamic_distribution_bound(fine, wrong, fine, fine, sizes, cells=1, publications=1),
        lambda: dynamic_absorption_bound(
            wrong, [1, 2], fine, fine, sizes, cells=1, skipped=1, nullified=1, nullified_error=0
        ),
    ]
    for call in calls:
        with pytest.raises(InvalidSetting):
            call()


@pytest.mark.parametrize(
    "setting",
    [
        {"cells": 0},
        {"cells": 1.5},
        {"skipped": -1},
        {"skipped": 0.5},
        {"skipped": math.nan},
        {"nullified": -1},
        {"nullified": INF},
        {"nullified_error": -1},
        {"nullified_error": math.nan},
        {"sensitivity": 0},
        {"sensitivity": math.nan},
        {"sensitivity": "a"},
    ],
)
def test_bad_settings_are_refused_by_name(setting: dict[str, float]) -> None:
    """A setting out of range is an InvalidSetting that names it; α = 1/2 is one without `nullified`."""
    settings = {"cells": 1, "skipped": 1, "nullified_error": 0} | setting
    with pytest.raises(InvalidSetting, match=next(iter(setting))):
        absorption_bound([1, 2], [1, 2], [1, 2], **settings)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    """Half windows or users, no publication, words, and an empty backward range are InvalidSettings."""
    with pytest.raises(InvalidSetting, match="windows must be an integer"):
        distribution_bound([1], [1.5], [1], cells=1, publications=1)
    with pytest.raises(InvalidSetting, match="sizes must be an integer"):
        sampling_bound([1], [1.5])
    for count in (0, 1.5, math.nan):
        with pytest.raises(InvalidSetting, match="publications"):
            distribution_bound([1], [1], [1], cells=1, publications=count)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="budgets must be made of numbers"):
        sampling_bound(["much"], [1])
    with pytest.raises(InvalidSetting, match="backward_most"):
        dynamic_distribution_bound([1], [1], [2], [1], [1], cells=1, publications=1)


# The parts and the whole


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
            assert error < Bound(c, p).total


# Fixed requirements: schedules straight from SPEC §5


def random_publications(rng: np.random.Generator, slots: int, window: int, most: int) -> list[int]:
    """Slots, often as early as allowed, with at most `most` of them in any `window` consecutive slots."""
    chosen: list[int] = []
    for t in range(1, slots + 1):
        if sum(t - q < window for q in chosen) < most and rng.random() < 0.8:
            chosen.append(t)
    return chosen


def test_change_part_bounds_the_measurement() -> None:
    """OBS on the shares, its error divided by d² or its sensitivity by d, errs by at most `change`."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        e, w, n = cohorts(rng)
        d, s = int(rng.integers(1, 20)), int(rng.integers(1, 3))
        share = e / (2 * w)
        bound = distribution_bound(e, w, n, cells=d, publications=1, sensitivity=s)
        other = absorption_bound(e, w, n, cells=d, skipped=1, nullified_error=0, sensitivity=s)
        assert max(obs(share, n, s) / d**2, obs(share, n, s / d)) <= bound.change * SLACK
        assert other.change == pytest.approx(bound.change)


def test_distribution_stays_below_in_every_slot() -> None:
    """PBD: with at most s̃ publications per largest window, every slot's offer errs by at most the bound."""
    rng = np.random.default_rng(6)
    tight = 0.0
    for _ in range(150):
        e, w, n = cohorts(rng)
        most = int(rng.integers(1, w.max() + 1))
        bound = distribution_bound(e, w, n, cells=1, publications=most).publication
        published = set(random_publications(rng, 40, int(w.max()), most))
        spent = np.zeros((41, e.size))
        for t in range(1, 41):
            past = np.array([spent[max(t - x + 1, 0) : t, i].sum() for i, x in enumerate(w)])
            offer = (e / 2 - past) / 2
            error = obs(offer, n)
            tight = max(tight, error / bound)
            assert error <= bound * SLACK
            if t in published:
                spent[t] = offer
    assert tight > 0.99


class Run(NamedTuple):
    """What a schedule of cycles gave: mean error per slot, and the cycle's ingredients."""

    error: float
    nullified: float
    nullified_error: float


def absorb(e: Floats, w: Whole, n: Whole, skips: list[int]) -> Run:
    """PBA on a constant stream, skipping skips[j] slots before publication j; whole cycles only."""
    share = e / (2 * w)
    last, level, spend, quiet = 0, 0.0, np.zeros(e.size), 0
    active: list[float] = []
    resting: list[float] = []
    todo = list(skips)
    for t in range(1, 10**6):
        rest = np.maximum(0, np.rint(spend / share) - 1)
        if t - last <= rest.max():
            resting.append(level)
            continue
        if not todo:
            break
        offer = share * np.minimum(np.maximum(t - last - rest, 0), w)
        active.append(obs(offer, n))
        if quiet < todo[0]:
            quiet += 1
            continue
        todo.pop(0)
        last, level, spend, quiet = t, active[-1], offer, 0
    mean = float(np.mean(resting)) if resting else 0.0
    return Run(float(np.mean(active + resting)), len(resting) / len(skips), mean)


def test_absorption_stays_below_on_average() -> None:
    """PBA: with α skipped slots before every publication, whole cycles err by at most the bound."""
    rng = np.random.default_rng(7)
    tight = 0.0
    for _ in range(150):
        e, w, n = cohorts(rng)
        alpha = int(rng.integers(0, 10))
        run = absorb(e, w, n, [alpha] * 4)
        assert run.nullified == min(alpha, w.max() - 1)
        bound = absorption_bound(e, w, n, cells=1, skipped=alpha, nullified_error=run.nullified_error)
        tight = max(tight, run.error / bound.publication)
        assert run.error <= bound.publication * SLACK
    assert tight > 0.99


def test_absorption_stays_below_with_uneven_cycles() -> None:
    """PBA: cycles of different lengths stay below the bound of their average lengths."""
    rng = np.random.default_rng(8)
    for _ in range(150):
        e, w, n = cohorts(rng)
        skips = [int(x) for x in rng.integers(0, 12, 7)]
        run = absorb(e, w, n, skips)
        bound = absorption_bound(
            e,
            w,
            n,
            cells=1,
            skipped=float(np.mean(skips)),
            nullified=run.nullified,
            nullified_error=run.nullified_error,
        )
        assert run.error <= bound.publication * SLACK


def test_the_papers_absorption_bound_is_exceeded() -> None:
    """One cohort, w = 3, α = 2: the appendix's 2 H²/(E/w)² per cycle is a quarter of what PBA errs by."""
    e, w, n = np.array([3.0]), np.array([3]), np.array([10])
    run = absorb(e, w, n, [2] * 5)
    harmonic = 1 + 1 / 4 + 1 / 9
    paper = (2 * harmonic + 2 * run.nullified_error) / 5
    bound = absorption_bound(e, w, n, cells=1, skipped=2, nullified_error=run.nullified_error)
    assert paper < run.error
    assert run.error == pytest.approx(bound.publication)


# Dynamic requirements: schedules straight from SPEC §6


class Slot(NamedTuple):
    """One slot of one user: what the rules leave; the caller decides about resting and publishing."""

    change_budget: float
    border: float
    absorbed: float
    forward: float
    back_1: float
    back_2: float


class Asked(NamedTuple):
    """Requirements of one user in slots 1, 2, … (index 0 unused)."""

    back_window: Whole
    back: Floats
    window: Whole
    budget: Floats

    @property
    def share(self) -> Floats:
        return self.budget / (2 * self.window)


def look(asked: Asked, spent_1: Floats, spent_2: Floats, t: int) -> Slot:
    """SPEC §6 for slot t, every sum computed anew."""
    active = [tau for tau in range(1, t + 1) if t <= tau + asked.window[tau] - 1]
    share = asked.share
    used = {tau: float(spent_2[tau:t].sum()) for tau in active}
    border = {tau: used[tau] / share[tau] + tau - 1 for tau in active}
    first = max(t - int(asked.back_window[t]) + 1, 1)
    s1, s2, back = float(spent_1[first:t].sum()), float(spent_2[first:t].sum()), float(asked.back[t])
    back_1 = min(back / 2 - s1, back - s1 - s2)
    change_budget = max(0.0, min(min(share[tau] for tau in active), back_1))
    return Slot(
        change_budget,
        max(border.values()),
        max((t - border[tau]) * share[tau] for tau in active),
        min(asked.budget[tau] / 2 - used[tau] for tau in active),
        back_1,
        min(back / 2 - s2, back - s1 - s2 - change_budget),
    )


def asks(rng: np.random.Generator, slots: int, longest: int) -> Asked:
    """Requirements that change from slot to slot; backward ones bind now and then."""
    change = rng.random(slots + 1) < 0.4
    pick = np.maximum.accumulate(np.where(change, np.arange(slots + 1), 0))
    loose = rng.uniform(1, 12)
    window = rng.integers(1, longest + 1, slots + 1)[pick]
    budget = rng.uniform(0.5, 4, slots + 1)[pick]
    return Asked(rng.integers(1, 4, slots + 1), loose * rng.uniform(1, 2, slots + 1), window, budget)


def test_dynamic_distribution_stays_below_in_every_slot() -> None:
    """DPBD: whatever the requirements do, every slot's offer errs by at most the bound; part 1 too."""
    rng = np.random.default_rng(9)
    slots, kept, tight = 24, 0, 0.0
    for _ in range(120):
        users = [asks(rng, slots, 6) for _ in range(int(rng.integers(1, 4)))]
        n = 10 ** rng.integers(0, 5, len(users))
        longest = max(int(u.window[1:].max()) for u in users)
        most = int(rng.integers(1, longest + 1))
        published = set(random_publications(rng, slots, longest, most))
        spent_1, spent_2 = np.zeros((len(users), slots + 1)), np.zeros((len(users), slots + 1))
        seen: list[list[Slot]] = []
        for t in range(1, slots + 1):
            rows = [look(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
            offer = np.array([max(0.0, min(x.forward / 2, x.back_2)) for x in rows])
            spent_1[:, t] = [x.change_budget for x in rows]
            spent_2[:, t] = offer if t in published else 0
            seen.append(rows)
        least = np.array([min(min(rows[i].back_1, rows[i].back_2) for rows in seen) for i in range(len(users))])
        if (least <= 0).any():
            continue
        kept += 1
        bound = dynamic_distribution_bound(
            [u.budget[1:].min() for u in users],
            [u.share[1:].min() for u in users],
            least,
            [max(rows[i].back_2 for rows in seen) for i in range(len(users))],
            n,
            cells=1,
            publications=most,
        )
        for rows in seen:
            error = obs(np.array([min(x.forward / 2, x.back_2) for x in rows]), n)
            tight = max(tight, error / bound.publication)
            assert error <= bound.publication * SLACK
            assert obs(np.array([x.change_budget for x in rows]), n) <= bound.change * SLACK
    assert kept > 40
    assert tight > 0.5


def test_the_papers_average_over_one_decline_is_exceeded() -> None:
    """DPBD, one tight slot per cohort and period, each at another time: the proof's average is exceeded.

    Eight cohorts, forward window 8 = ŝ, budget 1 in the tight slot and 50 elsewhere, all published, no
    binding backward requirement (γ = 0, ε_BL = 1/2): in every slot somebody's offer is 2⁻⁹.
    """
    m, slots = 8, 48
    n = np.full(m, 10**6)
    users = []
    for i in range(m):
        budget = np.where(np.arange(slots + 1) % m == i, 1.0, 50.0)
        whole = np.full(slots + 1, m)
        users.append(Asked(whole, np.full(slots + 1, 1e6), whole, budget))
    spent_1, spent_2 = np.zeros((m, slots + 1)), np.zeros((m, slots + 1))
    errors = []
    for t in range(1, slots + 1):
        rows = [look(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
        spent_2[:, t] = [x.forward / 2 for x in rows]
        errors.append(obs(spent_2[:, t], n))
    mean = float(np.mean(errors[m:]))
    paper = 2 * (4 ** (m + 2) - 16) / (3 * m * 0.5**2)
    free = [INF] * m
    bound = dynamic_distribution_bound([1] * m, [1 / 16] * m, free, free, n, cells=1, publications=m)
    assert paper < mean <= bound.publication


def test_dynamic_absorption_stays_below_on_average() -> None:
    """DPBA: whatever the requirements do, whole cycles err by at most the bound on average; part 1 too."""
    rng = np.random.default_rng(10)
    slots, kept, tight, below_share = 40, 0, 0.0, 0
    for _ in range(150):
        users = [asks(rng, slots, 5) for _ in range(int(rng.integers(1, 4)))]
        n = 10 ** rng.integers(0, 5, len(users))
        skip = int(rng.integers(0, 5))
        spent_1, spent_2 = np.zeros((len(users), slots + 1)), np.zeros((len(users), slots + 1))
        seen: list[list[Slot]] = []
        active: list[list[Slot]] = []
        stretch: list[float] = []
        errors: list[float] = []
        resting: list[float] = []
        level, cycles, cut = 0.0, 0, (0, 0, 0)
        for t in range(1, slots + 1):
            rows = [look(u, spent_1[i], spent_2[i], t) for i, u in enumerate(users)]
            seen.append(rows)
            spent_1[:, t] = [x.change_budget for x in rows]
            if t <= max(x.border for x in rows):
                resting.append(level)
                continue
            if not stretch:
                cut = (len(errors), len(resting), cycles)  # a cycle ended here
            active.append(rows)
            offer = np.array([max(0.0, min(x.absorbed, x.forward, x.back_2)) for x in rows])
            stretch.append(obs(offer, n))
            if len(stretch) == skip + 1:
                errors += stretch
                level, cycles, stretch = stretch[-1], cycles + 1, []
                spent_2[:, t] = offer
        errors, resting, cycles = errors[: cut[0]], resting[: cut[1]], cut[2]
        each = range(len(users))
        least = np.array([min(min(rows[i].back_1, rows[i].back_2) for rows in seen) for i in each])
        forward = np.array([min(rows[i].forward for rows in active) for i in each])
        if cycles == 0 or (least <= 0).any() or (forward < 1e-9).any():
            continue
        kept += 1
        share = np.array([u.share[1:].min() for u in users])
        below_share += bool((np.minimum(forward, least) < share * (1 - 1e-9)).any())
        bound = dynamic_absorption_bound(
            share,
            [u.window[1:].min() for u in users],
            least,
            forward,
            n,
            cells=1,
            skipped=skip,
            nullified=len(resting) / cycles,
            nullified_error=float(np.mean(resting)) if resting else 0,
        )
        measured = float(np.mean(errors + resting))
        tight = max(tight, measured / bound.publication)
        assert measured <= bound.publication * SLACK
        for rows in seen:
            assert obs(np.array([x.change_budget for x in rows]), n) <= bound.change * SLACK
    assert kept > 40
    assert tight > 0.3
    assert below_share > 5


def test_an_offer_of_dynamic_absorption_may_be_below_the_least_share() -> None:
    """The golden user 1 of SPEC §6: at slot 4 the forward windows leave 0.1, half of the least share 0.2."""
    asked = Asked(
        np.array([1, 1, 2, 2, 2, 5]),
        np.array([0, 1.0, 2.4, 2.8, 2.4, 3.0]),
        np.array([1, 4, 4, 3, 3, 2]),
        np.array([0, 2.4, 3.2, 4.2, 2.4, 0.8]),
    )
    spent_1, spent_2 = np.zeros(6), np.zeros(6)
    offers = []
    for t in range(1, 6):
        x = look(asked, spent_1, spent_2, t)
        offers.append(min(x.absorbed, x.forward, x.back_2))
        spent_1[t], spent_2[t] = x.change_budget, offers[-1] if t in (1, 3) else 0
    assert offers == pytest.approx([0.3, 0.4, 0.8, 0.1, 0.4])
    assert offers[3] < asked.share[1:].min()


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0.5, 5)), min_size=12, max_size=12), st.integers(0, 3))
def test_forward_windows_leave_k_minus_one_shares(rows: list[tuple[int, float]], skip: int) -> None:
    """In the k-th slot of a DPBA cycle min(k, w) shares are absorbed and min(k-1, w) shares are left."""
    w = np.array([1, *(x for x, _ in rows)])
    asked = Asked(w, np.full(13, 1e6), w, np.array([1.0, *(x for _, x in rows)]))
    spent, k, floor = np.zeros(13), 0, asked.share[1:].min()
    assume(floor > 0)
    for t in range(1, 13):
        x = look(asked, np.zeros(13), spent, t)
        if t <= x.border:
            continue
        k += 1
        least = w[1:].min()
        assert x.absorbed >= min(k, least) * floor * (1 - 1e-9)
        assert x.forward >= min(k - 1, least) * floor - 1e-9
        if k == skip + 1:
            spent[t], k = min(x.absorbed, x.forward), 0
