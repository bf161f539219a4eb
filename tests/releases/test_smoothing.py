"""Smoothing: the posterior given the whole history, from public numbers."""

from __future__ import annotations

import numpy as np
import pytest

from wevent import Register, Slot, auto
from wevent.errors import InvalidInput
from wevent.noise import SeededNoise
from wevent.releases import filters, smoothing
from wevent.releases.smoothing import Published, published, smooth


def test_one_model_is_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one model, counts and errors of all slots are those of the joint normal distribution."""
    f, R, slots = 0.05, 30.0, np.array([2, 3, 7, 12])
    values = np.array([100.0, 108.0, 111.0, 95.0])
    monkeypatch.setattr(filters, "models", lambda: (np.zeros(1), np.array([f]), np.ones(1)))
    made = smooth(
        [Published(int(t), np.array([v]), np.array([np.sqrt(R)])) for t, v in zip(slots, values, strict=True)], 14
    )
    # Standing still: all slots share one level, whose scale moves with what is known of it.
    assert made.first == 2 and made.counts.shape == (13, 1)
    level = values[0]
    seen = R
    scale = values[0]
    for value in values[1:]:
        gain = seen / (seen + f * scale + R)
        level, seen = level + gain * (value - level), seen * (1 - gain)
        scale = level
    assert made.counts[[2, 3, 4, 8], 0] == pytest.approx(level, rel=1e-9)
    assert made.counts[12, 0] == pytest.approx(level, rel=1e-9)


def test_it_is_better_than_the_filter() -> None:
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
    """Many cells are smoothed in blocks; every slot and cell is there."""
    monkeypatch.setattr(smoothing, "_HELD", 1)
    random = np.random.default_rng(3)
    made = smooth([Published(slot, random.normal(9, 1, 5), np.ones(5)) for slot in (1, 4, 5)])
    assert made.counts.shape == made.standard_error.shape == (5, 5)
    assert np.isfinite(made.counts).all() and (made.standard_error > 0).all()


def test_refusals() -> None:
    """Nothing to smooth, and slots out of order, are refused."""
    one = Published(3, np.ones(1), np.ones(1))
    with pytest.raises(InvalidInput, match="nothing to smooth"):
        smooth([])
    with pytest.raises(InvalidInput, match="order"):
        smooth([one, one])
