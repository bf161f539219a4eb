"""The steady state: closed forms of the error against the Riccati equation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_are
from tests.releases.models.gaussian import OneModel

from wevent.releases.models.grid import SWING_SLOTS, SWINGS
from wevent.releases.models.steady_state import forecast_error as closed_form

Floats = NDArray[np.float64]
rates = st.floats(1e-3, 10)
own = st.one_of(st.just(0.0), rates)


def settled(model: OneModel, k: int, noise: float) -> float:
    """Mean squared error over a cycle of k slots once the filter has settled: by the Riccati equation, at scale 1."""
    design = np.array([[1.0, float(model.swing > 0)]])
    if not (model.swing or model.slope):
        design = design[:, :1]

    def movement(i: int) -> tuple[Floats, Floats]:
        if model.swing:
            left = model.retention**i
            return np.diag([1, left]), np.diag([model.walk * i, model.swing * (1 - left * left)])
        if model.slope:
            turns = model.slope * np.array([[i**3 / 3, i * i / 2], [i * i / 2, i]])
            return np.array([[1.0, i], [0.0, 1.0]]), turns + np.diag([model.walk * i, 0])
        return np.eye(1), np.eye(1) * model.walk * i

    def value_variance(variance: Floats) -> float:
        return float((design @ variance @ design.T).item())

    (F, Q), V = movement(k), model.variation + noise
    before = solve_discrete_are(F.T, design.T, Q / V, np.eye(1)) * V
    after = before - before @ design.T @ design @ before / (value_variance(before) + V)
    error = (value_variance(before) + model.variation) * noise / (value_variance(before) + V)
    for i in range(1, k):
        F, Q = movement(i)
        error += value_variance(F @ after @ F.T + Q) + model.variation
    return error / k


def forecast_error(model: OneModel, k: int, noise: float, scale: float = 1.0) -> float:
    """The closed form of that, per scale."""
    found = closed_form(model.models(), np.array([float(k)]), np.array([noise * scale]), np.full((1, 1), scale))
    return float(found.item()) / scale


@given(rates, own, st.floats(0.01, 1e4), st.integers(1, 60), st.floats(1, 1e5))
@settings(deadline=None)
def test_the_forecast_of_a_level_is_exact(walk: float, variation: float, noise: float, k: int, scale: float) -> None:
    """For a level that walks, the closed form is the settled error of the filter, at any scale."""
    model = OneModel(walk=walk, variation=variation)
    assert forecast_error(model, k, noise, scale) == pytest.approx(settled(model, k, noise), rel=1e-7)


@given(rates, st.floats(0.1, 0.98), own, st.floats(0.01, 1e3), st.integers(1, 60))
@settings(deadline=None, max_examples=40)
def test_the_forecast_of_a_swing_is_exact_around_a_known_level(
    swing: float, retention: float, variation: float, noise: float, k: int
) -> None:
    """Where the level hardly walks, the error is that of the swing."""
    model = OneModel(walk=1e-13, variation=variation, swing=swing, retention=retention)
    assert forecast_error(model, k, noise) == pytest.approx(settled(model, k, noise), rel=1e-3)


@given(st.sampled_from(SWINGS), st.sampled_from(SWING_SLOTS), own, st.floats(0.1, 1e5), st.integers(1, 60))
@settings(deadline=None, max_examples=40)
def test_the_forecast_of_a_swing_and_a_level_is_never_too_small(
    swing: float, slots: float, variation: float, noise: float, k: int
) -> None:
    """It neglects that errors of level and swing cancel in part: between 1 and 1.5 times the error."""
    model = OneModel(walk=1e-3, variation=variation, swing=swing, retention=float(np.exp(-1 / slots)))
    assert 0.999 < forecast_error(model, k, noise) / settled(model, k, noise) < 1.5


@given(st.floats(-6, 6), st.integers(1, 60), st.floats(0, 0.9))
@settings(deadline=None, max_examples=40)
def test_the_forecast_of_a_slope(log_index: float, k: int, variation: float) -> None:
    """Never above the error, within 5 % up to a squared tracking index of 10, above a third of it beyond.

    Gains are those of accelerations that stay for a cycle, not of ones that change all the time.
    """
    index = 10.0**log_index
    model = OneModel(variation=variation, slope=index / k**3)
    ratio = forecast_error(model, k, 1 - variation) / settled(model, k, 1 - variation)
    assert (0.95 if index <= 10 else 0.36) < ratio < 1.001
