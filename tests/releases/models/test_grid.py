"""The grid of models: prior weights."""

from __future__ import annotations

import numpy as np
import pytest

from wevent.releases.models.grid import SLOPES, SWING_SLOTS, SWINGS, VARIATIONS, WALKS, all_models


def test_all_models() -> None:
    """Prior weights sum to 1: half for levels alone, a quarter for swings and slopes each; slow ones count more."""
    models = all_models()
    swings, slopes = models.has_swing > 0, models.has_slope > 0
    level_alone = ~(swings | slopes)
    sizes = len(WALKS) * len(VARIATIONS), len(SWINGS) * len(SWING_SLOTS) * 2, len(SLOPES) * 3
    for which, size, weight in zip((level_alone, swings, slopes), sizes, (0.5, 0.25, 0.25), strict=True):
        assert which.sum() == size and models.prior_weight[which].sum() == pytest.approx(weight)
    for rate, which in ((models.walk, level_alone), (models.swing, swings), (models.slope, slopes)):
        order = np.argsort(rate[which], kind="stable")
        assert (np.diff(models.prior_weight[which][order]) <= 1e-15).all()
    assert not (models.has_slope * models.has_swing).any()
    assert models.size == sum(sizes)
