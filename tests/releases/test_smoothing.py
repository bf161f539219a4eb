"""Smoothing: the posterior given the whole history, from public numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases.models.gaussian import OneModel, condition

from wevent import Register, Slot, auto
from wevent.errors import InvalidInput
from wevent.noise import SeededNoise
from wevent.releases import smoothing
from wevent.releases.models.bank import ModelBank
from wevent.releases.smoothing import RawPublication, published, smooth


@pytest.mark.parametrize(
    "model",
    [
        OneModel(walk=0.3, variation=0.7),
        OneModel(variation=0.7),
        OneModel(variation=0.4, slope=0.02),
        OneModel(walk=0.1, slope=0.05),
        OneModel(walk=0.05, variation=0.4, swing=3.0, retention=0.8),
        OneModel(swing=3.0, retention=0.95),
    ],
    ids=["level", "still", "slope", "walk and slope", "swing", "swing around a still level"],
)
@given(st.lists(st.tuples(st.integers(1, 6), st.floats(-30, -10)), min_size=1, max_size=8), st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_one_model_is_the_posterior(model: OneModel, seen: list[tuple[int, float]], after: int) -> None:
    """With one model, counts and errors of all slots are those of the joint normal distribution."""
    R, slots = 3.0, np.cumsum([gap for gap, _ in seen])
    values, last = np.array([value for _, value in seen]), int(slots[-1]) + after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smoothing, "new_bank", lambda cells: ModelBank(cells, model.models()))
        counts, variances = smoothing._smooth(slots, values[:, None], np.full((slots.size, 1), R), last)
    times, every = slots - float(slots[0]), np.arange(last - slots[0] + 1.0)
    total = model.shown(times, times) + R * np.eye(times.size)
    mean, spread = condition(model.shown(every, every), model.shown(every, times), total, values)
    assert counts[:, 0] == pytest.approx(mean, rel=1e-4, abs=1e-4)
    assert variances[:, 0] == pytest.approx(np.diag(spread), rel=1e-4, abs=1e-4)


def test_smoothing_is_better_than_the_filter() -> None:
    """On a wandering stream the smoothed history has at most 0.8 times the squared error of the releases."""
    random = np.random.default_rng(1)
    people, slots = 2_000, 600
    share = np.clip(0.4 + np.cumsum(random.normal(0, 0.015, slots)), 0.1, 0.9)
    register = Register.from_arrays(random.choice([0.5, 1.0], people), np.full(people, 20))
    publisher = auto(register, 2, noise=SeededNoise(2), fast=False)
    releases, truth = [], []
    for slot in range(1, slots + 1):
        places = (random.random(people) < share[slot - 1]).astype(np.int64)
        truth.append(np.bincount(places, minlength=2))
        releases.append(publisher.step(Slot(slot, places)))
    shown = np.stack([release.counts for release in releases])
    made = smooth(published(releases), slots)
    errors = [float(np.square(each - np.array(truth)).mean()) for each in (shown, made.counts)]
    assert errors[1] < 0.8 * errors[0]
    assert made.counts[-1] == pytest.approx(shown[-1], rel=1e-3, abs=0.5)
    inside = (made.low <= truth) & (truth <= made.high)
    assert 0.9 < inside.mean() < 0.99


def test_blocks_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many cells are smoothed in blocks; the result has every slot and cell."""
    monkeypatch.setattr(smoothing, "_NUMBERS", 1)
    random = np.random.default_rng(3)
    made = smooth([RawPublication(slot, random.normal(9, 1, 5), np.ones(5)) for slot in (1, 4, 5)])
    assert made.counts.shape == made.standard_error.shape == (5, 5)
    assert np.isfinite(made.counts).all() and (made.standard_error > 0).all()


def test_refusals() -> None:
    """Nothing to smooth, and slots out of order, are refused."""
    publication = RawPublication(3, np.ones(1), np.ones(1))
    with pytest.raises(InvalidInput, match="nothing to smooth"):
        smooth([])
    with pytest.raises(InvalidInput, match="order"):
        smooth([publication, publication])


def test_bursts_leave_variances_positive() -> None:
    """With values that jump at random, every standard error is a positive number."""
    for seed in range(8):
        chance = np.random.default_rng(seed)
        slots = np.cumsum(chance.integers(1, chance.choice([3, 30, 300]), int(chance.integers(2, 40))))
        noise, level = 10.0 ** chance.uniform(-3, 4), 10.0 ** chance.uniform(0, 6)
        publications = [
            RawPublication(slot, chance.normal(level * chance.random(4), noise), np.full(4, noise))
            for slot in slots.tolist()
        ]
        shown = smooth(publications)
        assert np.isfinite(shown.standard_error).all()
        assert (shown.standard_error > 0).all()
