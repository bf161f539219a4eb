"""The bank of models: each is a Kalman filter, weights are likelihoods, a jump makes all models begin anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases.models.gaussian import MOST_LEVEL, OneModel, condition, side_by_side

from wevent.budgets.codec import pack, unpack
from wevent.releases.models.bank import ModelBank, laplace_jump_threshold
from wevent.releases.models.grid import all_models

ONE = np.ones(1)
STILL, SLOW, FAST = OneModel(walk=1e-4), OneModel(walk=1.0), OneModel(walk=100.0)


def bank(*models: OneModel, cells: int = 1) -> ModelBank:
    made = ModelBank(cells, side_by_side(*models), laplace_jump_threshold(cells))
    made.begin(np.zeros(cells), np.full(cells, 100.0), 1e6)
    return made


@pytest.mark.parametrize(
    "model",
    [
        OneModel(walk=0.3, variation=0.7),
        OneModel(walk=0.3),
        OneModel(walk=0.2, variation=0.5, slope=0.03),
        OneModel(variation=1.0, slope=0.1),
        OneModel(walk=0.2, variation=0.5, swing=3.0, retention=0.8),
        OneModel(walk=0.01, swing=5.0, retention=0.95),
    ],
    ids=["level", "level alone", "slope", "slope alone", "swing", "long swing"],
)
@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-4, 4)), min_size=1, max_size=12), st.floats(-4, 1))
@settings(deadline=None, max_examples=40)
def test_one_model_is_the_posterior(model: OneModel, seen: list[tuple[int, float]], first: float) -> None:
    """With one model, estimates and variances are those of the joint normal distribution."""
    R, filtered = 2.0, ModelBank(1, model.models())
    filtered.begin(np.array([first]), np.array([R]), MOST_LEVEL)
    estimate, variance = np.zeros(1), np.zeros(1)
    for gap, value in seen:
        estimate, variance = filtered.update(gap, np.array([value]), np.array([R]), ONE)
    times = np.cumsum([0.0] + [gap for gap, _ in seen])
    values, last = np.array([first] + [value for _, value in seen]), times[-1:]
    total = model.shown(times, times) + R * np.eye(times.size)
    mean, spread = condition(model.shown(last, last), model.shown(last, times), total, values)
    assert estimate == pytest.approx(mean, rel=1e-4, abs=1e-4)
    assert variance == pytest.approx(spread[0], rel=1e-4, abs=1e-4)
    with_value = model.covariance(times, last).T + (model.second(last, times) if model.swing else 0.0)
    cross = np.concatenate([model.level(last, times), with_value])
    level, both, second = (part(last, last) for part in (model.level, model.covariance, model.second))
    prior = np.array([[level, both], [both, second]])
    mean, spread = condition(prior[:, :, 0, 0], cross, total, values)
    state = filtered.posterior[:, 0, 0]
    assert tuple(state[:2]) == pytest.approx(tuple(mean), rel=1e-4, abs=1e-4)
    assert tuple(state[2:]) == pytest.approx(tuple(spread[[0, 0, 1], [0, 1, 1]]), rel=1e-4, abs=1e-4)


def test_the_right_model_wins() -> None:
    """Of a still, a slow and a fast model, the one that made the data gets most of the weight in every cell."""
    random = np.random.default_rng(1)
    for right, model in enumerate((STILL, SLOW, FAST)):
        made = bank(STILL, SLOW, FAST, cells=4)
        level = np.zeros(4)
        for _ in range(300):
            level = level + random.normal(0, np.sqrt(model.walk), 4)
            made.update(1, level + random.normal(0, 1, 4), np.ones(4), np.ones(4))
        assert (made.weight.argmax(axis=0) == right).all()
        assert made.weight.sum(axis=0) == pytest.approx(1)


def made_by(kind: str, random: np.random.Generator, slots: int, cells: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Levels around 1,000 that walk, have a slope or swing, without noise (axes: slot, cell)."""
    steps = random.normal(0, 1, (slots, cells))
    if kind == "level":
        return np.asarray(1_000 + np.cumsum(steps * 10, axis=0))
    if kind == "slope":
        return np.asarray(1_000 + np.cumsum(np.cumsum(steps, axis=0), axis=0))
    swing, values = np.zeros(cells), []
    for step in steps:
        swing = np.exp(-1 / 16) * swing + step * np.sqrt(100_000 * (1 - np.exp(-2 / 16)))
        values.append(1_000 + swing)
    return np.array(values)


@pytest.mark.parametrize("kind", ["level", "slope", "swing"])
def test_the_right_family_wins(kind: str) -> None:
    """Of all models, those of the family that made the data get more than half of the weight, taken over cells."""
    random = np.random.default_rng(5)
    cells, models = 6, all_models()
    made = ModelBank(cells, models, laplace_jump_threshold(cells))
    values, noise, scale = made_by(kind, random, 250, cells), np.full(cells, 50.0), np.full(cells, 1_000.0)
    made.begin(values[0], noise, 1e6)
    for value in values[1:]:
        made.update(1, value + random.normal(0, np.sqrt(50), cells), noise, scale)
    families = {"slope": models.has_slope[:, 0], "swing": models.has_swing[:, 0]}
    families["level"] = 1 - families["slope"] - families["swing"]
    share = {name: float((made.weight * which[:, None]).sum() / cells) for name, which in families.items()}
    assert share[kind] > 0.5, share


@given(st.lists(st.floats(0, 2_000), min_size=2, max_size=8), st.integers(1, 200), st.floats(1, 3_000))
@settings(deadline=None, max_examples=40)
def test_a_forecast_is_the_mixture_of_the_models_forecasts(values: list[float], wait: int, scale: float) -> None:
    """Mean and variance of a later slot are those of the mixture of what each model forecasts."""
    made, size = ModelBank(2, all_models()), np.array([scale, 3.0])
    made.begin(np.array([values[0], 4.0]), np.array([20.0, 9.0]), 1e4)
    for value in values[1:]:
        made.update(3, np.array([value, 5.0]), np.array([20.0, 9.0]), size)
    mean, variance = made.models.value(made.models.forecast(made.posterior, wait, size))
    variance = variance + made.models.variation * size
    middle = (made.weight * mean).sum(axis=0)
    wanted = (made.weight * (variance + np.square(mean - middle))).sum(axis=0)
    found = made.forecast(size).at(wait)
    assert found[0] == pytest.approx(middle, rel=1e-9, abs=1e-7)
    assert found[1] == pytest.approx(wanted, rel=1e-7)


def test_a_jump_is_followed_at_once() -> None:
    """After a jump the level is there with the next value, and the still model keeps its weight."""
    random = np.random.default_rng(2)
    made = bank(STILL, OneModel(walk=10.0))
    for slot in range(200):
        made.update(1, np.array([(slot >= 150) * 500.0]) + random.normal(0, 1, 1), ONE, ONE)
        if slot == 150:
            assert abs(made.levels()[0] - 500) < 10
        assert (made.jump_rate[0] > 0) == (slot > 150)
    assert made.weight[0, 0] > 0.9


@pytest.mark.parametrize("gap", [4, 40])
def test_jumps_are_counted_per_slot(gap: int) -> None:
    """One jump of 500 every hundred publications adds about 500² over a hundred publications' slots, per slot."""
    random = np.random.default_rng(4)
    made = bank(STILL, OneModel(walk=10.0))
    for publication in range(1, 1_000):
        level = 500.0 * (publication // 100 % 2)
        made.update(gap, np.array([level]) + random.normal(0, 1, 1), ONE, ONE)
    assert 0.5 < made.jump_rate[0] / (500.0**2 / (100 * gap)) < 2


def test_an_outlier_is_forgotten() -> None:
    """A value that the next one does not confirm has no effect on the level.

    It counts as a burst if it is too large for noise, and otherwise not at all.
    """
    for size, burst in ((7.0, False), (500.0, True)):
        random = np.random.default_rng(2)
        made = bank(STILL, OneModel(walk=10.0))
        for slot in range(200):
            made.update(1, np.array([(slot == 150) * size]) + random.normal(0, 1, 1), ONE, ONE)
            assert (abs(made.levels()[0]) > size / 3) == (slot == 150)
        assert (made.jump_rate[0] > 0) == burst


def test_an_inflated_variance_lets_the_level_follow_the_next_value() -> None:
    """A level that may have moved by 100 follows the next value, and the earlier state is not written into."""
    made = bank(STILL)
    for _ in range(50):
        made.update(1, np.zeros(1), ONE, ONE)
    before = made.posterior
    expected = before.copy()
    made.inflate_variance(100.0**2)
    assert np.array_equal(before, expected)
    made.update(1, np.array([30.0]), ONE, ONE)
    assert made.levels()[0] > 29


def test_work_does_not_grow() -> None:
    """The state has the same shapes after ten and after five hundred publications."""
    made = bank(STILL, SLOW, cells=2)
    shapes = []
    for publication in range(500):
        made.update(1, np.zeros(2), np.ones(2), np.ones(2))
        if publication in (10, 499):
            shapes.append({name: each.shape for name, each in made.state().items()})
    assert shapes[0] == shapes[1]


def test_state() -> None:
    """A restored bank continues as the first would have, through the codec of the ledger."""
    random = np.random.default_rng(3)
    models = (
        OneModel(walk=0.1),
        OneModel(walk=1.0, variation=1.0),
        OneModel(slope=0.1, variation=1.0),
        OneModel(swing=2.0, retention=0.9, walk=0.1),
    )
    made, twin = (bank(*models, cells=3) for _ in range(2))
    for publication in range(9):
        made.update(2, random.normal(0, 3, 3) + 900 * (publication == 8), np.ones(3), np.ones(3))
    assert made.pending_jump.any()  # a pending jump is part of the state
    twin.restore(unpack(pack(made.state())))
    for _ in range(3):
        value = random.normal(0, 3, 3)
        first, second = (each.update(2, value, np.ones(3), np.ones(3)) for each in (made, twin))
        assert np.array_equal(first, second)
        assert np.array_equal(made.forecast(np.ones(3)).at(4), twin.forecast(np.ones(3)).at(4))
    assert pack(made.state()) == pack(twin.state())
