"""The probabilities of sin, log and tlns."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from wevent.study.datasets import log, sin, tlns
from wevent.study.datasets.catalog import SERIES
from wevent.study.datasets.java_random import JavaRandom

CLIPPED = [1414, 1428, 1467, 1490, 1524, 1526, 2281, 2806]
"""Slots of the walk, counted from 1, that a program in Java clips."""


def half_up(value: float) -> Decimal:
    return Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP)


def test_sin_values() -> None:
    """The wave begins above its middle, peaks near 157 and is lowest near 471 (values in decimals)."""
    p = sin.probabilities(10_000)
    assert p[[0, 156, 470, 9_999]] == pytest.approx([0.0754999917, 0.1249999841, 0.0250001427, 0.0496817179], abs=1e-9)
    assert p.min() >= 0.025
    assert p.max() <= 0.125


def test_log_values() -> None:
    """The curve begins above an eighth and ends at a quarter (values in decimals)."""
    p = log.probabilities(10_000)
    assert p[[0, 99, 499, 9_999]] == pytest.approx([0.1256249948, 0.1827646447, 0.2483267873, 0.25], abs=1e-9)
    assert (np.diff(p) >= 0).all()


def test_tlns_is_clipped_in_eight_slots() -> None:
    """Exactly 8 of 10,000 slots are clipped, all at 0, as the paper reports; the values are Java's."""
    p, clipped = tlns.walk(10_000)
    assert clipped == 8
    assert p.min() == 0
    assert p.max() < 1
    assert p[-1] == 0.23
    assert p.mean() == pytest.approx(0.22321, abs=1e-12)
    # A clipped slot is at 0 because of an unclipped step below it.
    random, before, below = JavaRandom(1), Decimal("0.05"), []
    for slot, found in enumerate(p.tolist(), start=1):
        step = half_up(float(before) + 0.0025 * random.next_gaussian())
        if step < 0:
            below.append(slot)
        before = max(step, Decimal(0))
        assert found == float(before)
    assert below == CLIPPED


def test_without_rounding_there_would_be_nineteen() -> None:
    """The walk that is clipped but not rounded leaves [0, 1] in 19 slots: rounding is part of the data set."""
    random, p, clipped = JavaRandom(1), 0.05, 0
    for _ in range(10_000):
        p += 0.0025 * random.next_gaussian()
        clipped += not 0 <= p <= 1
        p = min(max(p, 0.0), 1.0)
    assert clipped == 19


@pytest.mark.parametrize(("name", "first"), [("sin", 0.075), ("log", 0.25), ("tlns", 0.05)])
def test_rounded_series(name: str, first: float) -> None:
    """Under `printed` every probability but the first has two decimals, rounded half up."""
    plain, printed = SERIES[name](10_000, False), SERIES[name](10_000, True)
    assert printed[0] == first
    assert len(printed) == 10_000
    if name == "tlns":  # it is rounded in itself, and begins one step later
        assert (printed[1:] == plain[:-1]).all()
    else:
        assert printed[1:].tolist() == [float(half_up(p)) for p in plain[1:]]


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("rounded", [False, True])
def test_short_series_begin_long_ones(name: str, rounded: bool) -> None:
    """A series of n slots is the beginning of every longer one, for n = 0 and 1, too."""
    long = SERIES[name](50, rounded)
    for slots in (0, 1, 2, 49):
        assert SERIES[name](slots, rounded).tolist() == long[:slots].tolist()
