"""Measured change against its exact distribution, alone and in a publisher (error rates: see `laws`)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.statistical.laws import LARGEST_Z, Floats, Ints, assert_drawn_from, assert_moments, kept_law, laplace_law
from tests.support import quick_and_slow

from wevent import Decision, Fixed, Privacy, Register, Slot, pbd
from wevent.cohorts.histogram import RowTally
from wevent.decisions.change import measure_change
from wevent.decisions.selection import choose_threshold
from wevent.noise import SeededNoise
from wevent.units import NANO

CALLS = 8_000
pytestmark = pytest.mark.usefixtures("without_numba")


def measured_sums(
    counts: Ints, budgets: Ints, reference: Floats, sizes: Ints, sensitivity: int, noise: SeededNoise
) -> Ints:
    """Noisy sums of many measurements of the same change."""
    changes = (measure_change(RowTally(counts), budgets, reference, sizes, sensitivity, noise) for _ in range(CALLS))
    return np.array([round(change.distance * reference.size) for change in changes if change is not None])


@pytest.mark.parametrize(("sensitivity", "share"), [(1, 0.5), (1, 2.0), (2, 0.5), (3, 1.0), (4, 0.8)])
def test_change_of_people_who_are_all_kept(sensitivity: int, share: float) -> None:
    """The measure less the exact sum is discrete Laplace noise of scale s/θ, against a rounded reference."""
    counts = np.array([[5, 0, 2, 9], [1, 1, 0, 0]])
    reference = np.array([3.4, -2.0, 2.6, 100.5])  # rounds to 3, -2, 3, 100
    exact = 3 + 3 + 1 + 91
    budgets = np.full(2, round(share * NANO))
    noisy = measured_sums(counts, budgets, reference, np.array([16, 2]), sensitivity, SeededNoise(21))
    law = laplace_law(sensitivity / share)
    assert noisy.size == CALLS
    assert_moments(noisy - exact, law)
    assert_drawn_from(noisy - exact, law)


@pytest.mark.slow
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_change_of_people_who_are_sampled(sensitivity: int) -> None:
    """With sampling, the measure is the distance of the kept people plus noise of scale s/θ."""
    counts, budgets = np.array([[2, 1], [3, 6]]), (0.3, 0.9)
    units = np.array([round(e * NANO) for e in budgets])
    sizes, reference = np.array([3, 9]), np.array([4.0, 5.0])
    assert choose_threshold(units, sizes, sensitivity).threshold == units[1]
    noisy = measured_sums(counts, units, reference, sizes, sensitivity, SeededNoise(22))
    kept = [kept_law(column.tolist(), budgets, 0.9) for column in counts.T]
    law = kept[0].distance_to(4) + kept[1].distance_to(5) + laplace_law(sensitivity / 0.9)
    assert_moments(noisy, law)
    assert_drawn_from(noisy, law)


@pytest.mark.parametrize(
    "privacy",
    quick_and_slow(
        [Privacy("substitution", contributions=2)], [Privacy(), Privacy("substitution"), Privacy(contributions=3)]
    ),
    ids=lambda privacy: f"{privacy.neighbours}-{privacy.contributions}",
)
def test_change_and_noise_of_a_publisher(privacy: Privacy) -> None:
    """In a running publisher: both noises have their scales, s and k included, and are independent."""
    slots, s, people = 4_000, privacy.sensitivity, 100
    register = Register.from_levels([Fixed(4, 1)], np.zeros(people, np.int64))
    publisher = pbd(register, 2, privacy=privacy, noise=SeededNoise(23), fast=False)
    last, change_noise, count_noise = np.zeros(2, np.int64), [], []
    for number in range(1, slots + 1):
        side = number % 2  # all people move to the other cell, so that every slot is published
        release = publisher.step(Slot(number, np.full(people, side)))
        counts = np.array([(1 - side) * people, side * people])
        assert release.decision is Decision.PUBLISHED
        assert publisher.trace is not None and publisher.trace.change is not None
        change_noise.append(round(publisher.trace.change.distance * 2) - int(np.abs(counts - last).sum()))
        count_noise.append(release.counts - counts)
        last = release.counts.astype(np.int64)
    change, north, south = np.array(change_noise), *np.array(count_noise).T
    assert_drawn_from(change, laplace_law(s / 2))  # the change budget is E/2 = 2
    assert_drawn_from(north, laplace_law(s / 1))  # the publish budget is E/4 = 1
    assert_drawn_from(south, laplace_law(s / 1))
    pairs = np.corrcoef([change, north, south])[[0, 0, 1], [1, 2, 2]]
    assert (np.abs(pairs) * math.sqrt(slots) < LARGEST_Z).all()
