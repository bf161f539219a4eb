"""FAST_w: when it samples and how it filters, by hand, and a slow re-computation slot by slot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.baselines.central_runs import NANO, BaselineRun, built, quick_and_naive, run, sensitivities, wander
from tests.study.baselines.noises import Losing, LostError, Recording, Silent

from wevent import Decision
from wevent.study.baselines.fast_w import Fast, next_interval


def naive(epsilon: int, window: int, stream: list[list[int]], noise: Losing) -> BaselineRun:
    """The rules as written: a prediction in every slot, a filter for each cell, all kept in lists."""
    most = max(1, math.floor(Fraction(75, 1000) * window))
    price = epsilon // 2 // most
    shown, out, decisions, spends = [0.0] * len(stream[0]), [], [], []
    for t, x in enumerate(stream):
        noise.rekey()
        if t % window == 0:
            variance = [0.0]
            taken, started, due, interval, errors = 0, False, t, 1, []
        if started:
            variance = [value + 1e5 for value in variance]
        if t < due or taken == most:
            decision, spent = Decision.SKIPPED, 0
        else:
            taken, spent = taken + 1, price
            try:
                seen = noise.laplace(x, sensitivity=1, epsilon=Fraction(price, NANO)).tolist()
                decision = Decision.PUBLISHED
            except LostError:
                decision = Decision.LOST
            if decision is Decision.PUBLISHED and not started:
                shown, variance, started = [float(value) for value in seen], [100.0] * len(seen), True
                due = t + 1
            elif decision is Decision.PUBLISHED:
                gains = [value / (value + 1e6) for value in variance]
                fresh = [a + k * (z - a) for a, k, z in zip(shown, gains, seen, strict=True)]
                variance = [value * (1 - k) for value, k in zip(variance, gains, strict=True)]
                errors.append(np.mean([abs(b - a) / max(b, 1) for a, b in zip(shown, fresh, strict=True)]))
                shown = fresh
                if len(errors) >= 5:
                    delta = 0.9 * errors[-1] + 0.1 * np.mean(errors[-5:])
                    interval = max(1, interval + int(5 * (1 - math.exp(min((delta - 0.1) / 0.1, 600)))))
                due = t + interval
        out.append(shown)
        decisions.append(decision)
        spends.append(spent)
    return BaselineRun(out, decisions, spends)


@pytest.mark.parametrize(
    ("epsilon", "window", "cells", "size"),
    [("1", 1, 2, 300), ("0.7", 13, 3, 300), ("1", 100, 2, 500), ("3", 130, 4, 20), ("0.600000001", 200, 1, 5)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_slow_one(epsilon: str, window: int, cells: int, size: int, seed: int) -> None:
    """Counts, decisions and spends are those of the rules as written, lost slots included."""
    quick, slow = quick_and_naive(Fast, naive, epsilon, window, wander(620, cells, seed, size=size), seed)
    assert (quick.decisions, quick.spends) == (slow.decisions, slow.spends)
    assert np.allclose(quick.counts, slow.counts, rtol=1e-9)
    assert Decision.LOST in quick.decisions and len(quick.published) > 5


def test_when_it_samples_by_hand() -> None:
    """W = 120: nine samples; the first six in a row, then after 4, 7 and 10 slots while nothing changes."""
    done = run(built(Fast, "0.6", 120, Silent()), [[40, 60]] * 240)
    first = [1, 2, 3, 4, 5, 6, 10, 17, 27]
    assert done.published == first + [120 + slot for slot in first]
    assert {spend for spend in done.spends if spend} == {300_000_000 // 9}


def test_short_windows_take_one_sample() -> None:
    """W = 13: floor(0.975) is 0, so one sample, at the start of each block, for half the budget."""
    done = run(built(Fast, "1", 13, Silent()), [[7, 8]] * 40)
    assert done.published == [1, 14, 27, 40]
    assert done.spends[0] == 500_000_000


def test_the_filter_by_hand() -> None:
    """After the first sample P = 100; one slot later P = 100,100 and the gain 100100/1100100."""
    done = run(built(Fast, "1", 120, Silent(), cells=1), [[1000], [2000]])
    assert done.counts[0] == [1000.0]
    assert done.counts[1][0] == pytest.approx(1000 + 1000 * 100_100 / 1_100_100)


def test_intervals_by_hand() -> None:
    """δ = 0: int(3.16) = 3 longer; δ = 0.1 stays; δ = 0.2: int(5(1 - e)) = -8, at least 1; a huge one gives 1."""
    assert next_interval(4, [0.0] * 5) == 7
    assert next_interval(4, [0.1] * 5) == 4
    assert next_interval(20, [0.2] * 5) == 12
    assert next_interval(4, [0.2] * 5) == 1
    assert next_interval(4, [1e300] * 5) == 1
    assert next_interval(10, [1.0, 0, 0, 0, 0.0]) == 12  # δ = 0.02: 5(1 - e^-0.8) = 2.75, so 2


@given(st.integers(1, 10**6), st.lists(st.floats(0, 1e12), min_size=5, max_size=5))
def test_intervals_stay_in_range(interval: int, errors: list[float]) -> None:
    """At least 1, and at most 3 longer than before."""
    assert 1 <= next_interval(interval, errors) <= interval + 3


@sensitivities
def test_noise_is_that_of_the_charge(neighbours: str, s: int) -> None:
    """A sample's noise has scale s over what was charged for it."""
    noise = Recording(1)
    done = run(built(Fast, "0.6", 40, noise, neighbours=neighbours), wander(90, 2, 1))
    assert [draw[1] for draw in noise.draws] == [Fraction(spend, NANO) for spend in done.spends if spend]
    assert {draw[0] for draw in noise.draws} == {s}
