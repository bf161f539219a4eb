"""Measured errors of real publishers stay below the bounds of `decisions.bounds`.

The error of a slot is the one that is bounded: of a published slot the squared error of one cell (the worst
on average), of a skipped slot the squared mean difference to the repeated release. How many slots were published,
skipped and nullified is counted in the same runs, since the bounds depend on it; a nullified slot costs what
was measured. Seeds are fixed; the measured means are far enough below the bounds for any other seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import quick_and_slow

from wevent import RECIPES, Decision, Dynamic, Fixed, Privacy, Register, Slot
from wevent.decisions.bounds import (
    ErrorBound,
    absorption_bound,
    distribution_bound,
    dynamic_absorption_bound,
    dynamic_distribution_bound,
)
from wevent.noise import SeededNoise

CELLS, SLOTS, SEEDS = 3, 160, 4
INFINITE = float("inf")
pytestmark = pytest.mark.usefixtures("without_numba")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class People:
    """Cohorts: how many people require which epsilon over which window."""

    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    windows: tuple[int, ...]

    def register(self, *, dynamic: bool) -> Register:
        pairs = zip(self.epsilons, self.windows, strict=True)
        table = [Dynamic((e, w)) if dynamic else Fixed(e, w) for e, w in pairs]
        return Register.from_levels(table, np.repeat(np.arange(len(self.sizes)), self.sizes))

    @property
    def shares(self) -> Floats:
        return np.array(self.epsilons, np.float64) / (2 * np.array(self.windows, np.float64))


ALIKE = People((60,), (2.0,), (4,))
TWO_TYPES = People((20, 40), (0.6, 2.0), (3, 5))
FEW_STRICT = People((2, 58), (0.1, 2.0), (4, 4))


def stream(kind: str, people: int) -> Ints:
    """Cells of all people (axes: slot, person)."""
    slots, person = np.arange(SLOTS)[:, None], np.arange(people)
    if kind == "constant":
        return np.broadcast_to(person % 2, (SLOTS, people))
    if kind == "jumping":
        return np.broadcast_to(slots // 6 % CELLS, (SLOTS, people))
    return (slots + person) // people % CELLS  # creeping: one person moves on in every slot


@dataclass(frozen=True)
class Measured:
    """Measurements of one recipe on one stream over several seeds, complete cycles only.

    Attributes:
        error: mean over all slots.
        publications: the most in any window of the largest size.
        skipped, nullified: such slots per publication.
        nullified_error: mean over the nullified slots.
    """

    error: float
    publications: int
    skipped: float
    nullified: float
    nullified_error: float


def measure(recipe: str, people: People, kind: str, privacy: Privacy) -> Measured:
    """Run a recipe and measure; slots after the last complete cycle are left out."""
    places = stream(kind, sum(people.sizes))
    counts = np.stack([np.bincount(row, minlength=CELLS) for row in places])
    decisions: list[Decision] = []
    errors, most = [], 1
    for seed in range(SEEDS):
        register = people.register(dynamic=recipe.startswith("d"))
        publisher = RECIPES[recipe](register, CELLS, privacy=privacy, noise=SeededNoise(seed), fast=False)
        releases = [publisher.step(Slot(slot + 1, row)) for slot, row in enumerate(places)]
        kinds = [release.decision for release in releases]
        off = np.stack([release.counts for release in releases]) - counts
        skipped = np.array([kind is Decision.SKIPPED for kind in kinds])
        error = np.where(skipped[:, None], np.abs(off).mean(axis=1, keepdims=True) ** 2, off.astype(float) ** 2)
        fresh = np.array([kind is Decision.PUBLISHED for kind in kinds])
        windows = np.convolve(fresh, np.ones(max(people.windows)), "full")
        most = max(most, round(windows.max()))
        complete = int(np.flatnonzero(fresh)[-1]) + 1
        while complete < SLOTS and kinds[complete] is Decision.NULLIFIED:
            complete += 1
        decisions += kinds[:complete]
        errors.append(error[:complete])
    per_cell = np.concatenate(errors)
    worst = per_cell[:, per_cell.mean(axis=0).argmax()]
    resting = np.array([kind is Decision.NULLIFIED for kind in decisions])
    published = decisions.count(Decision.PUBLISHED)
    return Measured(
        float(worst.mean()),
        most,
        decisions.count(Decision.SKIPPED) / published,
        resting.sum() / published,
        float(worst[resting].mean()) if resting.any() else 0.0,
    )


def bound(recipe: str, people: People, measured: Measured, sensitivity: int) -> ErrorBound:
    """The bound whose assumptions hold here: constant requirements, no backward requirement that binds."""
    sizes, free = people.sizes, [INFINITE] * len(people.sizes)
    given: dict[str, Any] = {"cells": CELLS, "sensitivity": sensitivity}
    if recipe == "pbd":
        return distribution_bound(people.epsilons, people.windows, sizes, publications=measured.publications, **given)
    if recipe == "dpbd":
        return dynamic_distribution_bound(
            people.epsilons, people.shares, free, free, sizes, publications=measured.publications, **given
        )
    cycle: dict[str, Any] = {
        "skipped": measured.skipped,
        "nullified": measured.nullified,
        "nullified_error": measured.nullified_error,
    }
    if recipe == "pba":
        return absorption_bound(people.epsilons, people.windows, sizes, **given, **cycle)
    return dynamic_absorption_bound(people.shares, people.windows, free, free, sizes, **given, **cycle)


@pytest.mark.parametrize("kind", quick_and_slow(["jumping"], ["constant", "creeping"]))
@pytest.mark.parametrize(
    "people", quick_and_slow([TWO_TYPES], [ALIKE, FEW_STRICT]), ids=["two types", "alike", "few strict"]
)
@pytest.mark.parametrize("recipe", quick_and_slow(["pbd", "dpba"], ["pba", "dpbd"]))
def test_measured_error_stays_below(recipe: str, people: People, kind: str) -> None:
    """Add/remove: the mean error of a slot is at most the bound for the cycles that were measured."""
    measured = measure(recipe, people, kind, Privacy())
    assert measured.error <= bound(recipe, people, measured, sensitivity=1).total


@pytest.mark.parametrize("recipe", quick_and_slow(["pba"], ["pbd", "dpbd", "dpba"]))
def test_measured_error_stays_below_with_substitution(recipe: str) -> None:
    """Substitution: the same with sensitivity 2."""
    measured = measure(recipe, TWO_TYPES, "jumping", Privacy("substitution"))
    assert measured.error <= bound(recipe, TWO_TYPES, measured, sensitivity=2).total
