"""Bounds refuse arguments of the wrong shape or range, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from tests.decisions.naive_bounds import INF

from wevent.decisions.bounds import (
    absorption_bound,
    distribution_bound,
    dynamic_absorption_bound,
    dynamic_distribution_bound,
    sampling_bound,
)
from wevent.errors import InvalidSetting


@pytest.mark.parametrize("wrong", [[], [1.0], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan], [1.0, INF], [[1.0, 1.0]]])
def test_bad_columns_are_refused(wrong: list[float]) -> None:
    """A column of the wrong shape, or with anything but positive finite numbers, is an InvalidSetting."""
    fine, sizes = [1.0, 2.0], [3, 4]
    calls: list[Callable[[], object]] = [
        lambda: sampling_bound(wrong, sizes),
        lambda: sampling_bound(fine, wrong),
        lambda: distribution_bound(wrong, [1, 2], sizes, cells=1, publications=1),
        lambda: distribution_bound(fine, wrong, sizes, cells=1, publications=1),
        lambda: absorption_bound(wrong, [1, 2], sizes, cells=1, skipped=1, nullified_error=0),
        lambda: dynamic_distribution_bound(wrong, fine, fine, fine, sizes, cells=1, publications=1),
        lambda: dynamic_distribution_bound(fine, wrong, fine, fine, sizes, cells=1, publications=1),
        lambda: dynamic_absorption_bound(
            wrong, [1, 2], fine, fine, sizes, cells=1, skipped=1, nullified=1, nullified_error=0
        ),
    ]
    for call in calls:
        with pytest.raises(InvalidSetting):
            call()


@pytest.mark.parametrize(
    "setting",
    [
        {"cells": 0},
        {"cells": 1.5},
        {"skipped": -1},
        {"skipped": 0.5},
        {"skipped": math.nan},
        {"nullified": -1},
        {"nullified": INF},
        {"nullified_error": -1},
        {"nullified_error": math.nan},
        {"sensitivity": 0},
        {"sensitivity": math.nan},
        {"sensitivity": "a"},
    ],
)
def test_bad_settings_are_refused_by_name(setting: dict[str, float]) -> None:
    """A setting out of range is an InvalidSetting that names it; α = 1/2 is one without `nullified`."""
    settings = {"cells": 1, "skipped": 1, "nullified_error": 0} | setting
    with pytest.raises(InvalidSetting, match=next(iter(setting))):
        absorption_bound([1, 2], [1, 2], [1, 2], **settings)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    """Fractional windows or sizes, no publication, words, and an empty backward range are InvalidSettings."""
    with pytest.raises(InvalidSetting, match="windows must be an integer"):
        distribution_bound([1], [1.5], [1], cells=1, publications=1)
    with pytest.raises(InvalidSetting, match="sizes must be an integer"):
        sampling_bound([1], [1.5])
    for count in (0, 1.5, math.nan):
        with pytest.raises(InvalidSetting, match="publications"):
            distribution_bound([1], [1], [1], cells=1, publications=count)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="budgets must be made of numbers"):
        sampling_bound(["much"], [1])
    with pytest.raises(InvalidSetting, match="backward_most"):
        dynamic_distribution_bound([1], [1], [2], [1], [1], cells=1, publications=1)
