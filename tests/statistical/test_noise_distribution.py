"""Draws of `wevent.noise` against exact distributions, by chi-square.

Secure draws have no seed, so every test may fail by chance: in at most one of 10⁶ runs. Its chi-square
statistic is compared with the quantile of 10⁻⁷, and no bin expects fewer than 100 draws; the factor of ten
is left for the approximation. Seeded draws are fixed and cannot fail by chance at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.statistical.laws import chi_square

from wevent.noise import PROBABILITY_BITS, Noise, SecureNoise, SeededNoise, StudyNoise, round_up

CERTAIN = 2**PROBABILITY_BITS
FALSE_ALARM = 1e-7
LEAST_EXPECTED = 100
SOURCES: dict[str, Callable[[], Noise]] = {
    "secure": SecureNoise,
    "seeded": lambda: SeededNoise(20),
    "study": lambda: StudyNoise(20),
}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Noise:
    return SOURCES[request.param]()


def agreement(draws: Ints, cdf: Callable[[Ints], Floats], edges: Ints) -> float:
    """The chi-square of draws in the bins (…, e₀], (e₀, e₁], …, (eₘ, …) against a distribution."""
    observed = np.bincount(np.searchsorted(edges, draws, "left"), minlength=edges.size + 1)
    expected = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]])) * draws.size
    return chi_square(observed, expected, LEAST_EXPECTED)


def laplace_agreement(draws: Ints, scale: float) -> float:
    """The chi-square against the probabilities (1 - q) / (1 + q) · q^|k|, summed up."""
    q = math.exp(-1 / scale)

    def cdf(k: Ints) -> Floats:
        return np.where(k < 0, q ** np.abs(k), 1 + q - q ** np.abs(k + 1)) / (1 + q)

    step = max(1, round(scale / 4))
    return agreement(draws, cdf, np.arange(-40, 41) * step)


def pair_agreement(first: Ints, second: Ints, chances: Floats) -> float:
    """The chi-square of pairs of outcomes 0 … m-1 against independence with these chances."""
    table = np.bincount(first * chances.size + second, minlength=chances.size**2)
    return chi_square(table, np.outer(chances, chances).ravel() * first.size, LEAST_EXPECTED)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [
        pytest.param(1, Fraction(10, 3), marks=pytest.mark.slow),
        (1, Fraction(1)),
        (2, Fraction(27, 100)),
        pytest.param(3, Fraction(1, 1000), marks=pytest.mark.slow),
        (1, Fraction(1, 10**9)),
    ],
)
def test_laplace(source: Noise, sensitivity: int, epsilon: Fraction) -> None:
    """The noise is discrete Laplace of the scale s/ε, whatever the value (error rate 10⁻⁶)."""
    values = np.arange(50_000) % 1000 - 500
    noise = source.laplace(values, sensitivity=sensitivity, epsilon=epsilon) - values
    assert laplace_agreement(noise, round_up(sensitivity / epsilon)) > FALSE_ALARM


def test_laplace_can_be_refuted() -> None:
    """The chi-square of these tests rejects a scale that is 4 % off, either way (fixed seed)."""
    noise = SeededNoise(1).laplace(np.zeros(50_000, np.int64), sensitivity=7, epsilon=Fraction(1))
    assert laplace_agreement(noise, 7.0) > FALSE_ALARM
    assert laplace_agreement(noise, 7.0 * 1.04) < FALSE_ALARM
    assert laplace_agreement(noise, 7.0 / 1.04) < FALSE_ALARM


def test_laplace_elements_are_independent(source: Noise) -> None:
    """The signs of neighbouring elements, and of one element in two draws, are independent (rate 10⁻⁶)."""
    zeros = np.zeros(20_000, np.int64)
    first, second = (np.sign(source.laplace(zeros, sensitivity=1, epsilon=Fraction(1))) + 1 for _ in range(2))
    q = math.exp(-1)
    chances = np.array([q, 1 - q, q]) / (1 + q)
    assert pair_agreement(first[0::2], first[1::2], chances) > FALSE_ALARM / 2
    assert pair_agreement(first, second, chances) > FALSE_ALARM / 2


@pytest.mark.parametrize(
    ("things", "probability", "draws"),
    [
        (1, 0.5, 100_000),
        pytest.param(5, 0.3, 100_000, marks=pytest.mark.slow),
        pytest.param(63, 0.9, 50_000, marks=pytest.mark.slow),
        pytest.param(64, 0.5, 50_000, marks=pytest.mark.slow),
        (65, 0.37, 50_000),
        (1000, 1e-3, 20_000),
        pytest.param(1000, 0.9995, 20_000, marks=pytest.mark.slow),
        (10_000, 1 / 3, 10_000),
        (10**6, 1e-6, 2_000),
        (10**6, 1 - 1e-6, 2_000),
        pytest.param(10**6, 0.7, 2_000, marks=pytest.mark.slow),
    ],
)
def test_binomial(source: Noise, things: int, probability: float, draws: int) -> None:
    """Kept counts are binomial, for tiny, middling and nearly certain probabilities (error rate 10⁻⁶)."""
    chance = int(probability * CERTAIN)
    kept = source.binomial(np.full(draws, things), chance)
    exact = stats.binom(things, chance / CERTAIN)
    edges = np.unique(exact.ppf(np.linspace(0, 1, 42)[1:-1])).astype(np.int64)
    assert agreement(kept, exact.cdf, edges) > FALSE_ALARM


def test_least_and_greatest_probability(source: Noise) -> None:
    """2⁻⁶² keeps nothing and 1 - 2⁻⁶² keeps everything, of 10⁹ things (error rate 4.4·10⁻¹⁰)."""
    counts = np.full(1000, 10**6)
    assert source.binomial(counts, 1).sum() == 0
    assert source.binomial(counts, CERTAIN - 1).sum() == 10**9


def test_binomial_of_mixed_cells(source: Noise) -> None:
    """Cells of different counts and probabilities drawn in one call each keep their own (error rate 10⁻⁶)."""
    counts, chances = np.array([3, 70, 0, 200, 1]), np.array([0.2, 0.5, 0.5, 0.03, 0.8])
    scaled = (chances * CERTAIN).astype(np.int64)
    kept = source.binomial(np.tile(counts, (20_000, 1)), scaled)
    assert (kept[:, 2] == 0).all()
    for cell in (0, 1, 3, 4):
        exact = stats.binom(counts[cell], scaled[cell] / CERTAIN)
        edges = np.unique(exact.ppf(np.linspace(0, 1, 42)[1:-1])).astype(np.int64)
        assert agreement(kept[:, cell], exact.cdf, edges) > FALSE_ALARM / 4


def test_binomial_elements_are_independent(source: Noise) -> None:
    """Neighbouring elements, and one element in two draws, are independent (error rate 10⁻⁶)."""
    chance = CERTAIN // 10 * 4
    first, second = (source.binomial(np.full(40_000, 3), chance) for _ in range(2))
    chances = stats.binom(3, chance / CERTAIN).pmf(np.arange(4))
    assert pair_agreement(first[0::2], first[1::2], chances) > FALSE_ALARM / 2
    assert pair_agreement(first, second, chances) > FALSE_ALARM / 2


def test_bernoulli(source: Noise) -> None:
    """Each coin falls with its own probability; the binomial test is exact (error rate 7·10⁻⁷)."""
    chances = [int(p * CERTAIN) for p in (1e-5, 0.1, 1 / 3, 0.5, 0.75, 0.99, 1 - 1e-5)]
    heads = source.bernoulli(np.tile(chances, (200_000, 1))).sum(axis=0)
    for count, chance in zip(heads, chances, strict=True):
        assert stats.binomtest(int(count), 200_000, chance / CERTAIN).pvalue > FALSE_ALARM


def test_bernoulli_elements_are_independent(source: Noise) -> None:
    """Neighbouring coins, and one coin in two draws, are independent (error rate 10⁻⁶)."""
    first, second = (source.bernoulli(np.full(100_000, CERTAIN // 4)).astype(np.int64) for _ in range(2))
    chances = np.array([0.75, 0.25])
    assert pair_agreement(first[0::2], first[1::2], chances) > FALSE_ALARM / 2
    assert pair_agreement(first, second, chances) > FALSE_ALARM / 2
