"""Models: what each foretells is the joint normal distribution, and its steady state is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_are
from tests.releases.gaussian import One

from wevent.releases.models import MEMORIES, SLOPES, SWINGS, VARIATIONS, WALKS, all_models

Floats = NDArray[np.float64]
ONE = np.ones(1)
rates = st.floats(1e-3, 10)
kinds = st.one_of(
    st.builds(One, walk=rates, white=rates),
    st.builds(One, walk=rates, white=rates, slope=st.floats(1e-4, 0.1)),
    st.builds(One, walk=rates, white=rates, swing=rates, memory=st.floats(0.1, 0.99)),
)


def settled(one: One, k: int, noise: float) -> float:
    """Mean squared error over a cycle of k slots once the filter has settled: by the Riccati equation, at scale 1."""
    has = np.array([[1.0, float(one.swing > 0)]])
    if not (one.swing or one.slope):
        has = has[:, :1]

    def moved(i: int) -> tuple[Floats, Floats]:
        if one.swing:
            return np.diag([1, one.memory**i]), np.diag([one.walk * i, one.swing * (1 - one.memory ** (2 * i))])
        if one.slope:
            turns = one.slope * np.array([[i**3 / 3, i * i / 2], [i * i / 2, i]])
            return np.array([[1.0, i], [0.0, 1.0]]), turns + np.diag([one.walk * i, 0])
        return np.eye(1), np.eye(1) * one.walk * i

    def seen(variance: Floats) -> float:
        return float((has @ variance @ has.T).item())

    (F, Q), V = moved(k), one.white + noise
    before = solve_discrete_are(F.T, has.T, Q / V, np.eye(1)) * V
    after = before - before @ has.T @ has @ before / (seen(before) + V)
    error = (seen(before) + one.white) * noise / (seen(before) + V)
    for i in range(1, k):
        F, Q = moved(i)
        error += seen(F @ after @ F.T + Q) + one.white
    return error / k


def forecast_error(one: One, k: int, noise: float, scale: float = 1.0) -> float:
    """The closed form of that, per scale."""
    found = one.models().forecast_error(np.array([float(k)]), np.array([noise * scale]), np.full((1, 1), scale))
    return float(found.item()) / scale


@given(kinds, st.floats(0.2, 30), st.integers(1, 30), st.integers(1, 30))
@settings(deadline=None)
def test_waiting_twice_is_waiting_once(one: One, noise: float, first: int, then: int) -> None:
    """What is known a + b slots later does not depend on whether anybody looked after a of them."""
    models = one.models()
    state = models.begin(ONE, np.full(1, noise), 100.0)
    halfway = models.ahead(models.ahead(state, first, ONE), then, ONE)
    assert halfway == pytest.approx(models.ahead(state, first + then, ONE), rel=1e-9, abs=1e-9)


@given(kinds, st.floats(0.2, 30), st.floats(-50, 50))
@settings(deadline=None)
def test_variances_stay_variances(one: One, noise: float, surprise: float) -> None:
    """However long it learns, no variance is below 0 and no covariance above what variances allow."""
    models = one.models()
    state = models.begin(ONE, np.full(1, noise), 1e6)
    for _ in range(100):
        state = models.ahead(state, 3, ONE)
        total = models.shown(state)[1] + models.white + noise
        state = models.learn(state, np.full((1, 1), surprise), total)
        level, both, second = state[2:, 0, 0]
        assert level >= 0 and second >= 0 and both * both <= level * second * (1 + 1e-9) + 1e-12


own = st.one_of(st.just(0.0), rates)


@given(rates, own, st.floats(0.01, 1e4), st.integers(1, 60), st.floats(1, 1e5))
@settings(deadline=None)
def test_the_outlook_of_a_level_is_exact(walk: float, white: float, noise: float, k: int, scale: float) -> None:
    """For a level that walks, the closed form is what the filter comes to, whatever the scale."""
    one = One(walk=walk, white=white)
    assert forecast_error(one, k, noise, scale) == pytest.approx(settled(one, k, noise), rel=1e-7)


@given(rates, st.floats(0.1, 0.98), own, st.floats(0.01, 1e3), st.integers(1, 60))
@settings(deadline=None, max_examples=40)
def test_the_outlook_of_a_swing_is_exact_around_a_level_that_is_known(
    swing: float, memory: float, white: float, noise: float, k: int
) -> None:
    """Where the level hardly walks, all that matters is the swing."""
    one = One(walk=1e-13, white=white, swing=swing, memory=memory)
    assert forecast_error(one, k, noise) == pytest.approx(settled(one, k, noise), rel=1e-3)


@given(st.sampled_from(SWINGS), st.sampled_from(MEMORIES), own, st.floats(0.1, 1e5), st.integers(1, 60))
@settings(deadline=None, max_examples=40)
def test_the_outlook_of_a_swing_and_a_level_is_never_too_good(
    swing: float, slots: float, white: float, noise: float, k: int
) -> None:
    """That errors of level and swing cancel in part is neglected: between 1 and 1.5 times the error."""
    one = One(walk=1e-3, white=white, swing=swing, memory=float(np.exp(-1 / slots)))
    assert 0.999 < forecast_error(one, k, noise) / settled(one, k, noise) < 1.5


@given(st.floats(-6, 6), st.integers(1, 60), st.floats(0, 0.9))
@settings(deadline=None, max_examples=40)
def test_the_outlook_of_a_slope(log_index: float, k: int, white: float) -> None:
    """Never above the error, within 5 % up to a squared tracking index of 10, above a third of it beyond.

    Gains are those of accelerations that stay for a cycle, not of ones that change all the time.
    """
    index = 10.0**log_index
    one = One(white=white, slope=index / k**3)
    ratio = forecast_error(one, k, 1 - white) / settled(one, k, 1 - white)
    assert (0.95 if index <= 10 else 0.36) < ratio < 1.001


def test_all_models() -> None:
    """Beliefs sum to 1: half for levels alone, a quarter for swings and for slopes each; slow ones count more."""
    models = all_models()
    plain = (models.glides + models.swings) == 0
    sizes = len(WALKS) * len(VARIATIONS), len(SWINGS) * len(MEMORIES) * 2, len(SLOPES) * 3
    for which, size, belief in zip(
        (plain, models.swings > 0, models.glides > 0), sizes, (0.5, 0.25, 0.25), strict=True
    ):
        assert which.sum() == size and models.belief[which].sum() == pytest.approx(belief)
    for rate, which in ((models.walk, plain), (models.swing, models.swings > 0), (models.slope, models.glides > 0)):
        order = np.argsort(rate[which], kind="stable")
        assert (np.diff(models.belief[which][order]) <= 1e-15).all()
    assert not (models.glides * models.swings).any()
    assert models.size == sum(sizes)


@given(st.floats(0, 1e9), st.floats(0.1, 1e12), st.floats(1, 1e9))
@settings(deadline=None)
def test_the_beginning(value: float, noise: float, most: float) -> None:
    """The first value is trusted in so far as its noise is less than what is possible at all."""
    models = all_models()
    trusted = value / (1 + noise / most**2)
    shown, variance = models.shown(models.begin(np.full(1, value), np.full(1, noise), most))
    assert shown == pytest.approx(trusted)
    own = models.white * max(trusted, 1.0)
    assert (variance - own <= min(noise, most * most) * (1 + 1e-6) + 1e-6 * max(value, 1.0)).all()
