"""Random histories that are steered towards combinations: whatever happens, every promise to every person is kept.

`python -m tests.histories PROFILE` runs the same search for as long as one likes, and prints what it reached.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from tests.histories.generate import Generator
from tests.histories.profiles import DYNAMIC, PROFILES
from tests.histories.reached import Kind, Pair, Reached
from tests.histories.search import same_spends, search

from wevent.mechanisms import ESTIMATORS, RECIPES

QUICK = 30
"""Histories of each profile in every run."""

SLOW, SEEDS = 260, range(10)
"""Histories of each profile and seed in the whole suite: 20,800 in all, none of them among the quick ones."""

NAMED: dict[str, tuple[Pair, ...]] = {
    "merges": (
        (Kind.MERGED, Kind.LONGER),
        (Kind.MERGED, Kind.PUBLISHED),
        (Kind.STRICTER, Kind.MERGED),
        (Kind.LONGER, Kind.PUBLISHED),
    ),
    "bulk": (
        (Kind.REFUSED_TOGETHER, Kind.PUBLISHED),
        (Kind.REFUSED_TOGETHER, Kind.DECLARED),
        (Kind.REFUSED_TOGETHER, Kind.LONGER),
    ),
    "restores": (
        (Kind.RESTORED, Kind.JOINED),
        (Kind.RESTORED, Kind.RETURNED),
        (Kind.RESTORED, Kind.STRICTER),
        (Kind.RESTORED, Kind.LONGER),
        (Kind.LONGER, Kind.RESTORED),
        (Kind.RESTORED, Kind.IMPORTED),
        (Kind.RESTORED, Kind.RESTORED),
        (Kind.RESTORED, Kind.PUBLISHED),
    ),
    "joins lost": ((Kind.JOINED, Kind.RESTORED), (Kind.RESTORED, Kind.JOINED)),
    "groups": (
        (Kind.LISTED, Kind.PUBLISHED),
        (Kind.LISTED, Kind.LONGER),
        (Kind.LISTED, Kind.LEFT),
        (Kind.LEFT, Kind.RETURNED),
    ),
    "unlisted again": (
        (Kind.LEFT, Kind.UNLISTED_AGAIN),
        (Kind.LISTED, Kind.UNLISTED_AGAIN),
        (Kind.UNLISTED_AGAIN, Kind.RETURNED),
    ),
    "retries": (
        (Kind.CHARGE_FAILED, Kind.LONGER),
        (Kind.CHARGE_FAILED, Kind.JOINED),
        (Kind.CHARGE_FAILED, Kind.LEFT),
        (Kind.CHARGE_FAILED, Kind.REOPENED),
        (Kind.MERGED, Kind.CHARGE_FAILED),
        (Kind.MERGED, Kind.REOPENED),
    ),
    "mixed": (
        (Kind.TO_DYNAMIC, Kind.TO_FIXED),
        (Kind.DECLARED, Kind.TO_FIXED),
        (Kind.LOST_SLOT, Kind.LONGER),
        (Kind.MERGED, Kind.LONGER),
        (Kind.LISTED, Kind.STRICTER),
        (Kind.RESTORED, Kind.CHARGE_FAILED),
        (Kind.CHARGE_FAILED, Kind.RESTORED),
        (Kind.REFUSED_TOGETHER, Kind.RESTORED),
    ),
}
"""Pairs (first, then) on one person that each profile must reach."""

SELDOM = 20
"""One person in so many histories, at least, must have met each named pair."""


def promises_are_kept(profile: str, seed: str, histories: int) -> None:
    """No promise is broken, and the named pairs were reached; what was reached is printed."""
    reached = Reached()
    found = search(PROFILES[profile], f"{profile} {seed}", histories, reached)
    print(reached)
    assert found is None, str(found)
    few = {pair: reached.pairs[pair] for pair in NAMED[profile] if reached.pairs[pair] < histories // SELDOM}
    assert not few, few


@pytest.mark.parametrize("profile", NAMED)
def test_promises_are_kept(profile: str) -> None:
    """No window of any promise made to anybody is overfull, nothing crashes, and the named pairs were reached."""
    promises_are_kept(profile, "quick", QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("profile", NAMED)
def test_promises_are_kept_in_many_histories(profile: str, seed: int) -> None:
    """The same in many more histories."""
    promises_are_kept(profile, str(seed), SLOW)


@pytest.mark.parametrize("histories", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_compiled_rows_spend_the_same(histories: int) -> None:
    """A person who is served by compiled rows spends in every slot what numpy's rows would have them spend."""
    found = search(replace(PROFILES["mixed"], recipes=DYNAMIC, dynamic=0.6), "both", histories, check=same_spends)
    assert found is None, str(found)


def test_every_recipe_takes_part() -> None:
    """Mixed, restored and grouped histories draw every recipe and every estimator, with numpy and with numba."""
    for profile in ("mixed", "restores", "groups"):
        generator = Generator(PROFILES[profile], "recipes")
        drawn = [generator.history() for _ in range(150)]
        assert {(history.recipe, history.fast) for history in drawn} == set(product(RECIPES, (False, True)))
        assert {history.estimator for history in drawn if history.recipe == "auto"} == set(ESTIMATORS)
