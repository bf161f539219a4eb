"""Filters: shown counts are public and bounded, their errors grow, and the state can be restored."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from wevent.budgets.codec import pack, unpack
from wevent.decisions.evidence import Contrast, Evidence, MeasurementOptions
from wevent.releases.filters import Filter, ShownCounts, Unfiltered
from wevent.releases.state_space import StateSpace

FILTERS: list[Any] = [Unfiltered, StateSpace]


def evidence(random: np.random.Generator, contrast: bool = False) -> Evidence:
    measured = Contrast(random.normal(0, 50, 3), 2500.0, 0.4) if contrast else None
    return Evidence(random.integers(-5, 90, 3), np.full(3, 30.0), 0.3 if contrast else 0.0, measured)


def shown(filter_: Filter, slots: range, seed: int, contrast: bool = False) -> list[ShownCounts]:
    """Shown counts of slots, of which every third is published."""
    random, found = np.random.default_rng(seed), []
    for slot in slots:
        measured = evidence(random, contrast)
        found.append(filter_.publish(slot, measured, 80) if slot % 3 == 0 else filter_.repeat(slot))
    return found


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("contrast", [False, True])
def test_state(kind: Any, contrast: bool) -> None:
    """A restored filter, through the codec of the ledger, shows what the first would have shown."""
    first, second = kind(3), kind(3)
    shown(first, range(1, 20), 1, contrast)
    second.restore(unpack(pack(first.state())))
    both = (shown(filter_, range(20, 40), 2, contrast) for filter_ in (first, second))
    for a, b in zip(*both, strict=True):
        assert np.array_equal(a.counts, b.counts) and np.array_equal(a.standard_error, b.standard_error)
    assert np.array_equal(first.reference, second.reference)
    assert first.public is not None and second.public is not None
    assert np.array_equal(first.public.counts, second.public.counts)
    options = MeasurementOptions(*(np.full(1, x) for x in (9.0, 90.0, 0.4, 0.2)))
    assert first.public.bias is not None and second.public.bias is not None
    assert first.public.bias.error(options) == second.public.bias.error(options)


@pytest.mark.parametrize("kind", FILTERS)
def test_a_copy_learns_independently(kind: Any) -> None:
    """Publications of a copy leave the first as it was."""
    first = kind(3)
    shown(first, range(1, 10), 1, True)
    kept, before = pack(first.state()), first.repeat(10).counts.copy()
    shown(first.copy(), range(10, 30), 2, True)
    assert pack(first.state()) == kept
    assert np.array_equal(first.repeat(10).counts, before)


@pytest.mark.parametrize("kind", FILTERS)
def test_before_the_first_publication(kind: Any) -> None:
    """Zeros of infinite error, no public knowledge, and a reference of zeros."""
    filter_ = kind(4)
    assert not filter_.repeat(1).counts.any() and np.isinf(filter_.repeat(1).standard_error).all()
    assert filter_.public is None and not filter_.reference.any()


def test_filtered_counts() -> None:
    """Within 0 and the registered people; references are integers; errors grow while nothing is published."""
    filter_ = StateSpace(3)
    for each in shown(filter_, range(3, 60), 4):
        assert (each.counts >= 0).all() and (each.counts <= 80).all()
        assert filter_.reference.dtype == np.int64
    waits = [filter_.repeat(slot).standard_error for slot in range(60, 90)]
    assert all((b > a).all() for a, b in pairwise(waits))


def test_unfiltered_counts_stay() -> None:
    """Integer counts stay integers and repeat until the next publication."""
    found = shown(Unfiltered(3), range(3, 30), 5)
    assert all(each.counts.dtype == np.int64 for each in found)
    assert all(np.array_equal(found[k].counts, found[k - k % 3].counts) for k in range(len(found)))


@pytest.mark.parametrize("ratio", [1e3, 3e4, 1e6])
def test_the_forecast_error_is_least_near_the_cube_root(ratio: float) -> None:
    """With one slot's noise R and process variance q, the best interval is (R/q)^(1/3), within a factor 2."""
    filter_, random = StateSpace(1), np.random.default_rng(6)
    level, q = 1000.0, 10.0
    for slot in range(1, 400):  # learns κ = q/λ = 0.01
        level += random.normal(0, np.sqrt(q))
        filter_.publish(slot, Evidence(np.array([level + random.normal()]), np.ones(1)), 10**6)
    intervals = np.arange(1.0, 400.0)
    errors = filter_.forecast_error(intervals, q * ratio / intervals**2, 10**6)
    assert errors is not None
    best = float(intervals[np.argmin(errors)])
    assert 0.5 < best / ratio ** (1 / 3) < 2
    assert Unfiltered(1).forecast_error(intervals, intervals, 5) is None


def test_an_interval_that_cannot_be_paid_is_never_best() -> None:
    """An interval whose noise is infinite has an infinite error, and spoils no other."""
    filter_ = StateSpace(2)
    filter_.publish(1, Evidence(np.array([5, 6]), np.ones(2)), 20)
    errors = filter_.forecast_error(np.array([1.0, 2.0, 3.0]), np.array([np.inf, 4.0, 1.0]), 20)
    assert errors is not None
    assert np.isinf(errors[0]) and np.isfinite(errors[1:]).all()
