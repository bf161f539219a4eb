"""Bounds of PBD and PBA against schedules computed from SPEC §5 alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.decisions.naive_bounds import SLACK, Floats, Ints, cohorts, least_error, random_publications

from wevent.decisions.bounds import absorption_bound, distribution_bound


def test_change_part_bounds_the_measurement() -> None:
    """OBS on the shares, its error divided by d² or its sensitivity by d, errs by at most `change`."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        e, w, n = cohorts(rng)
        d, s = int(rng.integers(1, 20)), int(rng.integers(1, 3))
        share = e / (2 * w)
        bound = distribution_bound(e, w, n, cells=d, publications=1, sensitivity=s)
        other = absorption_bound(e, w, n, cells=d, skipped=1, nullified_error=0, sensitivity=s)
        assert max(least_error(share, n, s) / d**2, least_error(share, n, s / d)) <= bound.change * SLACK
        assert other.change == pytest.approx(bound.change)


def test_distribution_stays_below_in_every_slot() -> None:
    """PBD: with at most s̃ publications per largest window, every slot's offer errs by at most the bound."""
    rng = np.random.default_rng(6)
    tight = 0.0
    for _ in range(150):
        e, w, n = cohorts(rng)
        most = int(rng.integers(1, w.max() + 1))
        bound = distribution_bound(e, w, n, cells=1, publications=most).publication
        published = set(random_publications(rng, 40, int(w.max()), most))
        spent = np.zeros((41, e.size))
        for t in range(1, 41):
            past = np.array([spent[max(t - x + 1, 0) : t, i].sum() for i, x in enumerate(w)])
            offer = (e / 2 - past) / 2
            error = least_error(offer, n)
            tight = max(tight, error / bound)
            assert error <= bound * SLACK
            if t in published:
                spent[t] = offer
    assert tight > 0.99


class CycleError(NamedTuple):
    """Mean error per slot of a schedule of cycles, and the parts of a cycle."""

    error: float
    nullified: float
    nullified_error: float


def absorb(e: Floats, w: Ints, n: Ints, skips: list[int]) -> CycleError:
    """PBA on a constant stream, skipping skips[j] slots before publication j; complete cycles only."""
    share = e / (2 * w)
    last, level, spend, quiet = 0, 0.0, np.zeros(e.size), 0
    active: list[float] = []
    resting: list[float] = []
    todo = list(skips)
    for t in range(1, 10**6):
        rest = np.maximum(0, np.rint(spend / share) - 1)
        if t - last <= rest.max():
            resting.append(level)
            continue
        if not todo:
            break
        offer = share * np.minimum(np.maximum(t - last - rest, 0), w)
        active.append(least_error(offer, n))
        if quiet < todo[0]:
            quiet += 1
            continue
        todo.pop(0)
        last, level, spend, quiet = t, active[-1], offer, 0
    mean = float(np.mean(resting)) if resting else 0.0
    return CycleError(float(np.mean(active + resting)), len(resting) / len(skips), mean)


def test_absorption_stays_below_on_average() -> None:
    """PBA: with α skipped slots before every publication, complete cycles err by at most the bound."""
    rng = np.random.default_rng(7)
    tight = 0.0
    for _ in range(150):
        e, w, n = cohorts(rng)
        alpha = int(rng.integers(0, 10))
        run = absorb(e, w, n, [alpha] * 4)
        assert run.nullified == min(alpha, w.max() - 1)
        bound = absorption_bound(e, w, n, cells=1, skipped=alpha, nullified_error=run.nullified_error)
        tight = max(tight, run.error / bound.publication)
        assert run.error <= bound.publication * SLACK
    assert tight > 0.99


def test_absorption_stays_below_with_uneven_cycles() -> None:
    """PBA: cycles of different lengths stay below the bound of their average lengths."""
    rng = np.random.default_rng(8)
    for _ in range(150):
        e, w, n = cohorts(rng)
        skips = [int(x) for x in rng.integers(0, 12, 7)]
        run = absorb(e, w, n, skips)
        bound = absorption_bound(
            e,
            w,
            n,
            cells=1,
            skipped=float(np.mean(skips)),
            nullified=run.nullified,
            nullified_error=run.nullified_error,
        )
        assert run.error <= bound.publication * SLACK


def test_the_papers_absorption_bound_is_exceeded() -> None:
    """One cohort, w = 3, α = 2: the appendix's 2 H²/(E/w)² per cycle is a quarter of what PBA errs by."""
    e, w, n = np.array([3.0]), np.array([3]), np.array([10])
    run = absorb(e, w, n, [2] * 5)
    harmonic = 1 + 1 / 4 + 1 / 9
    paper = (2 * harmonic + 2 * run.nullified_error) / 5
    bound = absorption_bound(e, w, n, cells=1, skipped=2, nullified_error=run.nullified_error)
    assert paper < run.error
    assert run.error == pytest.approx(bound.publication)
