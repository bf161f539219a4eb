"""The bias of pooled counts: the best unbiased sum, and the forecast of its error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wevent.decisions.evidence import ForecastError, MeasurementOptions
from wevent.releases.models.bias import BiasModel, ContrastMix, renewed_part

Floats = NDArray[np.float64]
variance = st.floats(0.01, 1e6)


def array(value: float) -> Floats:
    return np.full(1, value)


@given(variance, variance, st.floats(-0.5, 3), st.one_of(st.just(0.0), variance))
@settings(deadline=None)
def test_the_best_mix_is_generalised_least_squares(noise: float, contrast: float, offset: float, bias: float) -> None:
    """Of all sums that are L in the mean without a bias, the one of least variance, as linear algebra finds it."""
    mix = ContrastMix.best(array(noise), array(contrast), array(offset), array(bias))
    # M = L + C + noise, and L - γM in the mean
    moved = np.array([1.0, -offset])
    total = np.diag([noise, contrast]) + bias * np.outer(moved, moved)
    design = np.array([1.0, 1.0 - offset])
    weights = np.linalg.solve(total, design)
    weights /= design @ weights
    found = np.array([mix.pooled[0], mix.contrast[0]])
    assert found == pytest.approx(weights, rel=1e-6, abs=1e-6)
    assert found @ design == pytest.approx(1, rel=1e-9)
    assert mix.bias[0] == pytest.approx(found @ moved, rel=1e-6, abs=1e-6)
    assert mix.noise(array(noise), array(contrast))[0] == pytest.approx(found**2 @ [noise, contrast], rel=1e-6)


def test_a_bias_of_unknown_size_has_no_part_in_the_sum() -> None:
    """If C may be of any size, it has no part in the sum; if there is none, the contrast only helps."""
    unknown = ContrastMix.best(array(4.0), array(9.0), array(0.3), array(1e15))
    assert unknown.bias[0] == pytest.approx(0, abs=1e-9)
    none = ContrastMix.best(array(4.0), array(9.0), array(0.3), array(0.0))
    assert none.noise(array(4.0), array(9.0))[0] < 4.0


def bias_of(size: float, movement: float = 0.0, chance: float = 0.0, **more: float) -> BiasModel:
    settings = {"scale": 100.0, "leverage": 0.5, "gap": 1.0, "future_slots": 1_000.0} | more
    models = (array(size), array(size), array(movement), array(chance), array(1.0))
    return BiasModel(settings["scale"], settings["leverage"], *models, settings["gap"], settings["future_slots"])


def options(noise: float, contrast: float, offset: float = 0.4, leverage: float = 0.5) -> MeasurementOptions:
    return MeasurementOptions(array(noise), array(contrast), array(offset), array(leverage))


def total(error: ForecastError) -> float:
    return float(error.noise[0] + error.bias[0])


@given(variance, variance, st.floats(0, 0.9))
def test_without_a_bias_the_error_is_that_of_the_best_sum(noise: float, contrast: float, offset: float) -> None:
    """If there certainly is no bias, the forecast is the variance of the best mix, and no bias stays."""
    error = bias_of(0.0).error(options(noise, contrast, offset))
    mix = ContrastMix.best(array(noise), array(contrast), array(offset), array(0.0))
    assert error.noise == pytest.approx(mix.noise(array(noise), array(contrast)))
    assert error.bias == pytest.approx(0.0)


@given(variance, variance, st.floats(0.001, 4), st.one_of(st.just(0.0), st.floats(1e-6, 1e-2)))
def test_the_forecast_error(noise: float, contrast: float, size: float, movement: float) -> None:
    """It is never above that of a sum that no bias can change, and it grows with the variance of the bias."""
    known = bias_of(size, movement)
    error = total(known.error(options(noise, contrast)))
    unchanged = ContrastMix.best(array(noise), array(contrast), array(0.4), array(1e30))
    assert error <= unchanged.noise(array(noise), array(contrast))[0] * (1 + 1e-6)
    uncertain = replace(known, prior_variance=2 * known.prior_variance, variance=2 * known.variance)
    assert error <= total(uncertain.error(options(noise, contrast))) * (1 + 1e-9)


@given(st.floats(0.001, 4), st.floats(1, 1e5), st.floats(100, 1e4))
@settings(deadline=None)
def test_the_variance_of_a_constant_bias_is_its_mean_over_future_slots(
    size: float, contrast: float, future_slots: float
) -> None:
    """Every slot shows more of a bias that stays: its variance is the mean over future slots."""
    noise, people = 1e-9, 0.5 * 100.0
    each = (0.36 * noise + contrast) / people**2
    slots = np.append(0.0, np.geomspace(1e-6, future_slots, 2_000))
    left = float(np.trapezoid(1 / (1 / size + slots / each), slots)) / future_slots
    wanted = ContrastMix.best(array(noise), array(contrast), array(0.4), array(left * people**2))
    found = bias_of(size, future_slots=future_slots).error(options(noise, contrast))
    assert found.noise == pytest.approx(wanted.noise(array(noise), array(contrast)), rel=1e-3)


@given(st.floats(1e-6, 1e-2), st.floats(1, 1e5), st.floats(1, 50))
@settings(deadline=None, max_examples=40)
def test_a_moving_bias_is_known_as_well_as_by_a_filter(movement: float, contrast: float, gap: float) -> None:
    """A moving bias that is known as well as it ever will be: the steady state of a filter, step by step."""
    people, noise = 50.0, 100.0
    each = (0.36 * noise + contrast) / people**2
    settled = float(np.sqrt(movement * gap * each))  # about
    for _ in range(1_000):
        settled = 1 / (1 / (settled + movement * gap) + 1 / each)
    model = replace(bias_of(1.0, movement, gap=gap), variance=array(settled))
    mix = ContrastMix.best(array(noise), array(contrast), array(0.4), array(settled * people**2))
    found = model.error(options(noise, contrast)).bias
    assert found == pytest.approx(np.square(mix.bias) * settled * people**2, rel=0.05)


def test_other_weights_renew_the_bias() -> None:
    """Nothing is new at the same leverage or before there was any; the more it differs, the more is new."""
    assert renewed_part(array(0.3), 0.0)[0] == renewed_part(array(0.3), 0.3)[0] == 0
    assert 0 < renewed_part(array(0.4), 0.3)[0] < renewed_part(array(0.9), 0.3)[0]
