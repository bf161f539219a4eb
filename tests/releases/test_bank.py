"""The bank of models: each is a Kalman filter, weights are likelihoods, jumps begin anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wevent.budgets.codec import pack, unpack
from wevent.releases.bank import Bank, laplace_patience

ONE = np.ones(1)


def bank(*models: tuple[float, float, float], cells: int = 1) -> Bank:
    walk, white, prior = (np.array(column) for column in zip(*models, strict=True))
    return Bank(cells, walk, white, prior, patience=laplace_patience(cells))


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-4, 4)), min_size=1, max_size=12))
@settings(deadline=None)
def test_one_model_is_the_posterior(seen: list[tuple[int, float]]) -> None:
    """With one model the level and the estimate are means and variances of the joint normal distribution."""
    q, f, P0, R = 0.3, 0.7, 4.0, 2.0
    filtered = bank((q, f, P0))
    times = np.cumsum([gap for gap, _ in seen])
    values = np.array([value for _, value in seen])
    for gap, value in seen:
        estimate, variance = filtered.update(gap, np.array([value]), np.array([R]), ONE)
    level = P0 + q * np.minimum.outer(times, times)  # covariance of the levels
    total = level + (f + R) * np.eye(times.size)
    gain = np.linalg.solve(total, level[-1])
    with_white = np.linalg.solve(total, level[-1] + f * (np.arange(times.size) == times.size - 1))
    assert filtered.level[0] == pytest.approx(gain @ values)
    assert filtered.variance[0] == pytest.approx(level[-1, -1] - gain @ level[-1])
    assert estimate == pytest.approx(with_white @ values)
    wanted = level[-1, -1] + f - with_white @ (level[-1] + f * (np.arange(times.size) == times.size - 1))
    assert variance == pytest.approx(wanted)


def test_the_right_model_wins() -> None:
    """Of a still, a slow and a fast model, the one that made the data gets most of the weight in every cell."""
    random = np.random.default_rng(1)
    for right, walk in enumerate((0.0001, 1.0, 100.0)):
        made = bank((0.0001, 0.0, 100.0), (1.0, 0.0, 100.0), (100.0, 0.0, 100.0), cells=4)
        level = np.zeros(4)
        for _ in range(300):
            level = level + random.normal(0, np.sqrt(walk), 4)
            made.update(1, level + random.normal(0, 1, 4), np.ones(4), np.ones(4))
        assert (made.weight.argmax(axis=0) == right).all()
        assert made.weight.sum(axis=0) == pytest.approx(1)


def test_a_jump_is_followed_at_once() -> None:
    """After a jump the level is there with the next value, and the still model keeps its weight."""
    random = np.random.default_rng(2)
    made = bank((0.0001, 0.0, 100.0), (10.0, 0.0, 100.0))
    for slot in range(200):
        made.update(1, np.array([(slot >= 150) * 500.0]) + random.normal(0, 1, 1), ONE, ONE)
        if slot == 150:
            assert abs(made.levels()[0] - 500) < 10
        assert (made.jumps[0] > 0) == (slot > 150)
    assert made.weight[0, 0] > 0.9


def test_an_outlier_is_forgotten() -> None:
    """A value that the next one does not confirm leaves no trace in the level, and does not count as a jump."""
    random = np.random.default_rng(2)
    made = bank((0.0001, 0.0, 100.0), (10.0, 0.0, 100.0))
    for slot in range(200):
        made.update(1, np.array([(slot == 150) * 500.0]) + random.normal(0, 1, 1), ONE, ONE)
        assert (abs(made.levels()[0]) > 100) == (slot == 150)
    assert made.jumps[0] == 0


@given(st.floats(1, 1e9), st.floats(0.1, 1e12))
def test_the_beginning(most: float, noise: float) -> None:
    """The first value is trusted in so far as its noise is less than what is possible at all."""
    made = bank((1.0, 1.0, np.inf))
    made.begin(np.array([most]), np.array([noise]), most)
    assert 0 <= made.level[0, 0] <= most * (1 + 1e-9)
    assert 0 < made.variance[0, 0] <= min(noise, most * most) * (1 + 1e-9)


def test_state() -> None:
    """A restored bank goes on as the first would have, through the codec of the ledger."""
    random = np.random.default_rng(3)
    made, twin = (bank((0.1, 0.0, 9.0), (1.0, 1.0, 9.0), cells=3) for _ in range(2))
    for _ in range(9):
        made.update(2, random.normal(0, 3, 3), np.ones(3), np.ones(3))
    twin.restore(unpack(pack(made.state())))
    value = random.normal(0, 3, 3)
    one, other = (each.update(2, value, np.ones(3), np.ones(3)) for each in (made, twin))
    assert np.array_equal(one, other)
    assert all(np.array_equal(made.state()[name], twin.state()[name]) for name in made.state())
