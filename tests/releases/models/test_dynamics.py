"""Dynamics: forecasts compose, variances stay variances, the first value counts by its noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases.models.gaussian import OneModel

from wevent.releases.models.grid import all_models

ONE = np.ones(1)
rates = st.floats(1e-3, 10)
kinds = st.one_of(
    st.builds(OneModel, walk=rates, variation=rates),
    st.builds(OneModel, walk=rates, variation=rates, slope=st.floats(1e-4, 0.1)),
    st.builds(OneModel, walk=rates, variation=rates, swing=rates, retention=st.floats(0.1, 0.99)),
)


@given(kinds, st.floats(0.2, 30), st.integers(1, 30), st.integers(1, 30))
@settings(deadline=None)
def test_two_forecasts_in_a_row_equal_one(model: OneModel, noise: float, first: int, then: int) -> None:
    """A forecast over a + b slots equals a forecast over b slots of the forecast over a slots."""
    models = model.models()
    state = models.begin(ONE, np.full(1, noise), 100.0)
    halfway = models.forecast(models.forecast(state, first, ONE), then, ONE)
    assert halfway == pytest.approx(models.forecast(state, first + then, ONE), rel=1e-9, abs=1e-9)


@given(kinds, st.floats(0.2, 30), st.floats(-50, 50))
@settings(deadline=None)
def test_variances_stay_variances(model: OneModel, noise: float, surprise: float) -> None:
    """After any number of updates no variance is below 0 and no covariance above what variances allow."""
    models = model.models()
    state = models.begin(ONE, np.full(1, noise), 1e6)
    for _ in range(100):
        state = models.forecast(state, 3, ONE)
        total = models.value(state)[1] + models.variation + noise
        state = models.update(state, np.full((1, 1), surprise), total)
        level, covariance, second = state[2:, 0, 0]
        assert level >= 0 and second >= 0 and covariance * covariance <= level * second * (1 + 1e-9) + 1e-12


@given(st.floats(0, 1e9), st.floats(0.1, 1e12), st.floats(1, 1e9))
@settings(deadline=None)
def test_the_first_value(value: float, noise: float, most: float) -> None:
    """The first value counts in so far as its noise is less than the largest possible level."""
    models = all_models()
    trusted = value / (1 + noise / most**2)
    shown, variance = models.value(models.begin(np.full(1, value), np.full(1, noise), most))
    assert shown == pytest.approx(trusted)
    own = models.variation * max(trusted, 1.0)
    assert (variance - own <= min(noise, most * most) * (1 + 1e-6) + 1e-6 * max(value, 1.0)).all()
