"""Frequency oracles: exact local privacy, the law of reports one by one, unbiased counts and their variance."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from tests.statistical.laws import LARGEST_Z
from tests.support import ONE

from wevent.errors import InvalidSetting, NotExact, WrongShape
from wevent.noise import PROBABILITY_BITS, Noise, SecureNoise, SeededNoise, StudyNoise
from wevent.study.baselines.oracle import GRR, OUE, FrequencyOracle, kind_for

CERTAIN = 2**PROBABILITY_BITS
KINDS: list[type[FrequencyOracle]] = [GRR, OUE]
EPSILONS = [1, 7, 5_000_000, ONE // 2, ONE, 3 * ONE, 20 * ONE, 100 * ONE]
Law = dict[tuple[int, ...], Fraction]

kinds = pytest.mark.parametrize("kind", KINDS)


# Every way that the draws can go, with exact chances


class Branching(Noise):
    """Noise that follows a script of outcomes and keeps the exact chance of all of them together."""

    seeded = True

    def __init__(self, script: list[int]) -> None:
        self.script, self.ways = script, list[int]()
        self.chance = Fraction(1)

    def binomial(self, counts: ArrayLike, probabilities: ArrayLike) -> NDArray[np.int64]:
        things, chances = np.broadcast_arrays(counts, probabilities)
        pairs = zip(things.ravel().tolist(), chances.ravel().tolist(), strict=True)
        return np.array([self._one(n, Fraction(p, CERTAIN)) for n, p in pairs]).reshape(things.shape)

    def _one(self, n: int, p: Fraction) -> int:
        outcomes = [k for k in range(n + 1) if (0 < p < 1) or k == n * p]
        place = len(self.ways)
        self.ways.append(len(outcomes))
        if place == len(self.script):
            self.script.append(0)
        k = outcomes[self.script[place]]
        self.chance *= math.comb(n, k) * p**k * (1 - p) ** (n - k)
        return k

    def rekey(self) -> None:
        raise AssertionError

    def _words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError

    def _add_laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        raise AssertionError


def law(oracle: FrequencyOracle, counts: list[int]) -> Law:
    """The exact distribution of the supports of one group."""
    found: Law = {}
    script: list[int] = []
    while True:
        noise = Branching(script)
        supports = tuple(oracle.supports(np.array([counts]), noise)[0].tolist())
        found[supports] = found.get(supports, Fraction(0)) + noise.chance
        while script and script[-1] == noise.ways[len(script) - 1] - 1:
            script.pop()
        if not script:
            assert sum(found.values()) == 1
            return found
        script[-1] += 1


def together(first: Law, other: Law) -> Law:
    """The sum of two independent ones."""
    found: Law = {}
    for a, p in first.items():
        for b, q in other.items():
            key = tuple(x + y for x, y in zip(a, b, strict=True))
            found[key] = found.get(key, Fraction(0)) + p * q
    return found


def power(units: int) -> Fraction:
    """e^ε from below, by less than 10⁻⁵⁷ of it."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(units).scaleb(-9).exp().next_minus())


def alone(oracle: FrequencyOracle) -> list[Law]:
    """What one person's report says, for each symbol that they may have."""
    return [law(oracle, row) for row in np.eye(oracle.symbols, dtype=int).tolist()]


def loss(first: Law, other: Law) -> Fraction:
    """The largest ratio of chances."""
    assert first.keys() == other.keys()
    return max(first[report] / other[report] for report in first)


def assert_private(kind: type[FrequencyOracle], budget: int, symbols: int) -> None:
    laws = alone(kind(np.array([budget]), symbols))
    for first, other in permutations(laws, 2):
        assert loss(first, other) <= power(budget)


@kinds
@pytest.mark.parametrize("symbols", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("budget", EPSILONS)
def test_no_report_gives_away_more_than_its_budget(kind: type[FrequencyOracle], symbols: int, budget: int) -> None:
    """Whatever symbol is changed into whatever other one, no report becomes likelier by more than e^ε, exactly."""
    assert_private(kind, budget, symbols)


@given(budget=st.integers(1, 100 * ONE), symbols=st.integers(1, 17))
@settings(deadline=None)
def test_any_budget_and_number_of_symbols(budget: int, symbols: int) -> None:
    """The same for budgets of all sizes, and for numbers of symbols that cannot be halved evenly."""
    assert_private(GRR, budget, symbols)
    assert_private(OUE, budget, min(symbols, 3))


@kinds
@pytest.mark.parametrize("symbols", [2, 3, 5])
@pytest.mark.parametrize("budget", [7, 5_000_000, ONE, 5 * ONE])
def test_the_budget_is_used_up(kind: type[FrequencyOracle], symbols: int, budget: int) -> None:
    """Rounding to the private side costs less than 2⁻²⁵ of e^ε - 1."""
    laws = alone(kind(np.array([budget]), symbols))
    worst = max(loss(first, other) for first, other in permutations(laws, 2))
    assert worst - 1 > (power(budget) - 1) * (1 - Fraction(1, 2**25))


@pytest.mark.parametrize(("kind", "people"), [(GRR, [2, 1, 1]), (GRR, [0, 3, 0, 1]), (OUE, [2, 1]), (OUE, [1, 0, 2])])
def test_drawn_together_as_one_by_one(kind: type[FrequencyOracle], people: list[int]) -> None:
    """The law of the supports is exactly that of people who report one by one, and as private."""
    oracle = kind(np.array([ONE]), len(people))
    laws = alone(oracle)
    expected: Law = {(0,) * len(people): Fraction(1)}
    for symbol, many in enumerate(people):
        for _ in range(many):
            expected = together(expected, laws[symbol])
    found = law(oracle, people)
    assert found == expected
    moved = [people[0] - 1, people[1] + 1, *people[2:]] if people[0] else [1, people[1] - 1, *people[2:]]
    assert loss(found, law(oracle, moved)) <= power(ONE)
    assert loss(law(oracle, moved), found) <= power(ONE)


# Estimates


def chances(kind: type[FrequencyOracle], epsilon: float, symbols: int) -> tuple[float, float]:
    """The chances p and q as the papers print them."""
    e = math.exp(epsilon)
    return (e / (e + symbols - 1), 1 / (e + symbols - 1)) if kind is GRR else (0.5, 1 / (e + 1))


@kinds
@pytest.mark.parametrize("noise", [SeededNoise, StudyNoise])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_counts_are_unbiased_and_their_variance_known(
    kind: type[FrequencyOracle], noise: type[SeededNoise], epsilon: float
) -> None:
    """Mean and variance of the estimates over 4,000 groups; each z-test fails for one seed of 10⁶."""
    people, groups = np.array([700, 0, 200, 100]), 4000
    oracle = kind(np.full(groups, round(epsilon * ONE)), 4)
    counts = np.tile(people, (groups, 1))
    reading = oracle.read(oracle.supports(counts, noise(11)), counts.sum(axis=1))
    p, q = chances(kind, epsilon, 4)
    variance = (people * p * (1 - p) + (1000 - people) * q * (1 - q)) / (p - q) ** 2
    found = reading.counts - people
    assert (np.abs(found.mean(axis=0)) < LARGEST_Z * np.sqrt(variance / groups)).all()
    spread = np.sqrt(((found**2 - variance) ** 2).mean(axis=0) / groups)
    assert (np.abs((found**2).mean(axis=0) - variance) < LARGEST_Z * spread).all()
    spread = reading.variance.std(axis=0) / math.sqrt(groups)
    assert (np.abs(reading.variance.mean(axis=0) - variance) < LARGEST_Z * spread + 1e-6 * variance).all()


@pytest.mark.parametrize("epsilon", [1e-6, 0.005, 0.6, 2.0])
@pytest.mark.parametrize("symbols", [2, 5, 100])
def test_error_is_the_printed_variance(epsilon: float, symbols: int) -> None:
    """[Ren22]: n(k-2+e^ε)/(e^ε-1)² + n(k-2)/(k(e^ε-1)) by GRR; [Wang17]: 4n·e^ε/(e^ε-1)² + n/k by OUE."""
    budget, n, more = np.array([round(epsilon * ONE)]), np.array([50]), math.expm1(epsilon)
    grr = 50 * ((symbols - 1 + more) / more**2 + (symbols - 2) / (symbols * more))
    oue = 50 * (4 * (1 + more) / more**2 + 1 / symbols)
    assert GRR(budget, symbols).error(n)[0] == pytest.approx(grr, rel=1e-6)
    assert OUE(budget, symbols).error(n)[0] == pytest.approx(oue, rel=1e-6)


def test_groups_have_budgets_of_their_own() -> None:
    """Reports of a group follow its own budget: 5,000 people at ε = 10⁻⁶ say nothing, at ε = 30 everything."""
    for kind in KINDS:
        oracle = kind(np.array([1000, 30 * ONE]), 2)
        counts = np.array([[5000, 0], [5000, 0]])
        reading = oracle.read(oracle.supports(counts, SeededNoise(1)), np.array([5000, 5000]))
        assert np.sqrt(reading.variance[0, 0]) > 10**6
        assert np.abs(reading.counts[1] - [5000, 0]).max() < (1 if kind is GRR else 6 * 71)


@given(budget=st.integers(1, 8 * ONE), symbols=st.integers(2, 3000))
def test_the_better_oracle_is_taken(budget: int, symbols: int) -> None:
    """The kind that is chosen has the lesser variance for rare symbols."""
    spread = {kind: kind(np.array([budget]), symbols).spread[0] for kind in KINDS}
    assert spread[kind_for(budget, symbols)] <= min(spread.values()) * (1 + 1e-6)


def test_where_the_oracle_changes() -> None:
    """OUE from the first whole number above 3e^ε + 2 on."""
    border = math.floor(3 * math.e + 2)
    assert kind_for(ONE, border) is GRR
    assert kind_for(ONE, border + 1) is OUE


@kinds
def test_secure_noise_serves_as_well(kind: type[FrequencyOracle]) -> None:
    """Supports of nobody are 0; GRR's add up to the people, OUE's are at most all of them."""
    oracle = kind(np.array([ONE, ONE]), 6)
    supports = oracle.supports(np.array([[0] * 6, [9, 0, 0, 1, 0, 90]]), SecureNoise())
    assert not supports[0].any()
    assert supports[1].sum() == 100 if kind is GRR else (supports[1] <= 100).all()


@kinds
def test_refusals(kind: type[FrequencyOracle]) -> None:
    """No budget, no symbol, another shape, negative or fractional people."""
    for budgets, symbols in ((np.array([ONE, 0]), 3), (np.array([-1]), 3), (np.array([ONE]), 0)):
        with pytest.raises(InvalidSetting):
            kind(budgets, symbols)
    oracle = kind(np.array([ONE]), 3)
    for wrong in (np.zeros(3, np.int64), np.zeros((1, 2), np.int64), np.zeros((2, 3), np.int64)):
        with pytest.raises(WrongShape):
            oracle.supports(wrong, SeededNoise(1))
    with pytest.raises(InvalidSetting):
        oracle.supports(np.array([[1, -1, 0]]), SeededNoise(1))
    with pytest.raises(NotExact):
        oracle.supports(np.array([[1.0, 1.0, 0.0]]), SeededNoise(1))
