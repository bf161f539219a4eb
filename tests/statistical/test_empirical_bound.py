"""The lower bound on privacy loss against exactly known losses, and on publishers step by step.

Seeds are fixed. Where a bound is expected to fail sometimes, the number of failures is compared with the
binomial quantile of 10⁻⁶.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.statistical.side_by_side import HalfTheNoise

from wevent import Decision, Fixed, Register, Release, Slot, pba
from wevent.errors import InvalidSetting
from wevent.noise import SeededNoise
from wevent.releases.empirical import at_least, at_most, compare, lower_bound, observed


@pytest.mark.parametrize("error", [0.25, 1e-2, 2.5e-5, 1e-9])
@pytest.mark.parametrize("trials", [1, 7, 500, 20_000, 300_000])
def test_interval_ends(trials: int, error: float) -> None:
    """Both ends are those of Clopper and Pearson, from scipy's beta quantiles, and never inside of them."""
    for hits in sorted({0, 1, 3, trials // 100, trials // 3, trials - 1, trials}):
        if hits > trials:
            continue
        low = stats.beta.ppf(error, hits, trials - hits + 1) if hits else 0.0
        high = stats.beta.isf(error, hits + 1, trials - hits) if hits < trials else 1.0
        assert low * (1 - 1e-5) - 1e-12 <= at_least(hits, trials, error) <= low * (1 + 1e-9)
        assert high * (1 - 1e-9) <= at_most(hits, trials, error) <= high + (1 - high) * 1e-5 + 1e-12


def answers(truth: int, epsilon: float, size: int, random: np.random.Generator) -> list[int]:
    """Randomised response: the truth with probability e^ε / (1 + e^ε)."""
    honest = random.random(size) < 1 / (1 + math.exp(-epsilon))
    result: list[int] = np.where(honest, truth, 1 - truth).tolist()
    return result


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_bound_is_close_for_many_runs(epsilon: float) -> None:
    """Randomised response, 10⁶ runs: at most ε, and less than 0.03 below it."""
    random = np.random.default_rng(51)
    loss = compare(answers(0, epsilon, 10**6, random), answers(1, epsilon, 10**6, random), 0.999)
    assert epsilon - 0.03 < loss.epsilon <= epsilon
    assert loss.trials == (500_000, 500_000) and loss.hits[0] > loss.hits[1]


@pytest.mark.slow
def test_bound_holds_as_often_as_it_says() -> None:
    """Of 2,000 bounds with confidence 0.8 at most a fifth exceed the true loss."""
    random = np.random.default_rng(52)
    bounds = [compare(answers(0, 1, 400, random), answers(1, 1, 400, random), 0.8).epsilon for _ in range(2_000)]
    assert np.sum(np.array(bounds) > 1) < stats.binom.isf(1e-6, 2_000, 0.2)
    assert np.mean(bounds) > 0.5


def test_outputs_that_are_all_different_show_nothing() -> None:
    """An event that fits the choosing runs only does not occur again: 0, not an overfitted bound."""
    loss = compare(range(1_000), range(1_000, 2_000), 0.9)
    assert loss.epsilon == 0.0 and not loss.refutes(0.0)


@pytest.mark.parametrize("stream", [0, 1])
def test_both_directions_are_tried(stream: int) -> None:
    """An output that only one stream has is found, whichever stream it is."""
    common, special = ["often"] * 4_000, ["often", "only here"] * 2_000
    outputs = (special, common) if stream == 0 else (common, special)
    loss = compare(*outputs, confidence=0.99)
    assert loss.stream == stream and loss.event == {"only here"} and loss.epsilon > 5


def test_tails_of_noise_are_found() -> None:
    """Discrete Laplace noise around 0 or 1: the half-lines are found among the single values."""
    noise = SeededNoise(53)
    seen = [noise.laplace(np.full(200_000, value), sensitivity=1, epsilon=Fraction(1)).tolist() for value in (0, 1)]
    loss = compare(seen[0], seen[1], 0.999)
    assert 0.95 < loss.epsilon <= 1
    expected = range(1, 6) if loss.stream == 1 else range(-4, 1)
    assert loss.event >= set(expected)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="runs"):
        lower_bound(lambda stream, number: 0, 1)
    with pytest.raises(InvalidSetting, match="confidence"):
        compare([1, 2], [1, 2], 1.0)
    with pytest.raises(InvalidSetting, match="at least 2"):
        compare([1], [1, 2], 0.9)


def test_observed_separates_decisions_from_counts() -> None:
    """Counts are cut to steps around the middle; a slot without counts is no step."""
    releases = [
        Release(slot, np.array(counts), decision, None, np.zeros(2), None)
        for slot, (counts, decision) in enumerate(
            [([9, 4], Decision.PUBLISHED), ([9, 4], Decision.SKIPPED), ([9, 4], Decision.NULLIFIED)], start=1
        )
    ]
    output = observed(releases, [[3, 5]] * 3, largest_step=2)
    assert output[:2] == (2, -1)
    assert len(output) == 4 and min(output[2:]) > 2 and output[2] != output[3]


@pytest.mark.slow
@pytest.mark.usefixtures("without_numba")
@pytest.mark.parametrize("source", [SeededNoise, HalfTheNoise])
def test_publishers_step_by_step(source: type[SeededNoise]) -> None:
    """4,000 publishers on a slot with one person more or less: at most E = 2; more with half the noise."""
    register, noise = Register.from_rows({"one": Fixed(2, 1), "other": Fixed(2, 1)}), source(54)
    slots = [Slot(1, {}), Slot(1, {"one": 0})]

    def run(stream: int, number: int) -> tuple[int, ...]:
        publisher = pba(register, 1, noise=noise, fast=False)
        return observed([publisher.step(slots[stream])], [[0]])

    loss = lower_bound(run, 4_000, 0.9999)
    assert loss.epsilon > 1
    assert loss.refutes(2) == (source is HalfTheNoise)
