"""What is shown: public, bounded, with errors that grow; and it can be kept and restored."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from wevent.budgets.codec import pack, unpack
from wevent.decisions.evidence import Contrast, Evidence, MeasurementOptions
from wevent.releases.filters import Filter, Shown, StateSpace, Unfiltered

VIEWS: list[Any] = [Unfiltered, StateSpace]


def evidence(random: np.random.Generator, contrast: bool = False) -> Evidence:
    measured = Contrast(random.normal(0, 50, 3), 2500.0, 0.4) if contrast else None
    return Evidence(random.integers(-5, 90, 3), np.full(3, 30.0), 0.3 if contrast else 0.0, measured)


def shown(view: Filter, slots: range, seed: int, contrast: bool = False) -> list[Shown]:
    random = np.random.default_rng(seed)
    told = []
    for slot in slots:
        news = evidence(random, contrast)
        told.append(view.publish(slot, news, 80) if slot % 3 == 0 else view.repeat(slot))
    return told


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("contrast", [False, True])
def test_state(kind: Any, contrast: bool) -> None:
    """A restored view, through the codec of the ledger, shows what the first would have shown."""
    first, second = kind(3), kind(3)
    shown(first, range(1, 20), 1, contrast)
    second.restore(unpack(pack(first.state())))
    for one, other in zip(
        shown(first, range(20, 40), 2, contrast), shown(second, range(20, 40), 2, contrast), strict=True
    ):
        assert np.array_equal(one.counts, other.counts) and np.array_equal(one.standard_error, other.standard_error)
    assert np.array_equal(first.reference, second.reference)
    assert first.public is not None and second.public is not None
    assert np.array_equal(first.public.counts, second.public.counts)
    way = MeasurementOptions(*(np.full(1, x) for x in (9.0, 90.0, 0.4, 0.2)))
    assert first.public.doubt is not None and second.public.doubt is not None
    assert first.public.doubt.error(way) == second.public.doubt.error(way)


@pytest.mark.parametrize("kind", VIEWS)
def test_a_copy_learns_apart(kind: Any) -> None:
    """What a copy takes in leaves the first as it was."""
    first = kind(3)
    shown(first, range(1, 10), 1, True)
    kept, before = pack(first.state()), first.repeat(10).counts.copy()
    shown(first.copy(), range(10, 30), 2, True)
    assert pack(first.state()) == kept
    assert np.array_equal(first.repeat(10).counts, before)


@pytest.mark.parametrize("kind", VIEWS)
def test_before_the_first_publication(kind: Any) -> None:
    """Zeros of infinite error, nothing public, and a reference of zeros."""
    view = kind(4)
    assert not view.repeat(1).counts.any() and np.isinf(view.repeat(1).standard_error).all()
    assert view.public is None and not view.reference.any()


def test_filtered_counts() -> None:
    """Within 0 and the registered people; references are whole; errors grow while nothing is published."""
    view = StateSpace(3)
    for told in shown(view, range(3, 60), 4):
        assert (told.counts >= 0).all() and (told.counts <= 80).all()
        assert view.reference.dtype == np.int64
    waits = [view.repeat(slot).standard_error for slot in range(60, 90)]
    assert all((b > a).all() for a, b in pairwise(waits))


def test_unfiltered_counts_stay() -> None:
    """Whole counts stay whole and repeat until the next publication."""
    told = shown(Unfiltered(3), range(3, 30), 5)
    assert all(each.counts.dtype == np.int64 for each in told)
    assert all(np.array_equal(told[k].counts, told[k - k % 3].counts) for k in range(len(told)))


@pytest.mark.parametrize("ratio", [1e3, 3e4, 1e6])
def test_the_outlook_is_least_near_the_cube_root(ratio: float) -> None:
    """With one slot's noise R and process variance q, the best interval is (R/q)^(1/3), within a factor 2."""
    view, random = StateSpace(1), np.random.default_rng(6)
    level, q = 1000.0, 10.0
    for slot in range(1, 400):  # learns κ = q/λ = 0.01
        level += random.normal(0, np.sqrt(q))
        view.publish(slot, Evidence(np.array([level + random.normal()]), np.ones(1)), 10**6)
    intervals = np.arange(1.0, 400.0)
    errors = view.forecast_error(intervals, q * ratio / intervals**2, 10**6)
    assert errors is not None
    best = float(intervals[np.argmin(errors)])
    assert 0.5 < best / ratio ** (1 / 3) < 2
    assert Unfiltered(1).forecast_error(intervals, intervals, 5) is None


def test_what_cannot_be_paid_is_never_best() -> None:
    """An interval whose noise is infinite has an infinite error, and spoils no other."""
    view = StateSpace(2)
    view.publish(1, Evidence(np.array([5, 6]), np.ones(2)), 20)
    errors = view.forecast_error(np.array([1.0, 2.0, 3.0]), np.array([np.inf, 4.0, 1.0]), 20)
    assert errors is not None
    assert np.isinf(errors[0]) and np.isfinite(errors[1:]).all()
